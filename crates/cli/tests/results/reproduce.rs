//! `polypath reproduce`.

use serde_json::Value;

use crate::desk::{Desk, TINY, files};

/// An experiment below the tiny scenario: a claim that holds, one that cannot, a figure.
pub(crate) const EXPERIMENT: &str = r#"
[[sweep]]
name = "loss"
set = ["path.B.loss"]
values = ["0%", "2%", "4%"]

[experiment]
id = "T-one"
title = "A small experiment"
source = "none"
question = "Do losses harm?"
quick = { seeds = 2 }

[[claim]]
id = "T-one-c1"
kind = "Q"
says = "One path is not enough for this."
test = { of = { metric = "goodput", where = { loss = "0%" } }, at-least = "2Mbit/s" }

[[claim]]
id = "T-one-c2"
kind = "Q"
says = "Two paths carry more than both links."
test = { of = { metric = "goodput", where = { loss = "0%" } }, above = "4Mbit/s" }
explain = "Nothing can."

[[figure]]
name = "goodput"
title = "Goodput over loss"
x = "loss"
y = { metric = "goodput" }
"#;

pub(crate) fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("papers/T/one.toml", format!("{TINY}{EXPERIMENT}"));
    desk.write("papers/T/plain.toml", TINY);
    desk
}

pub(crate) const LINE: &str = "reproduce T-one --scenarios papers --quick";

#[test]
fn claims_get_verdicts_and_the_folder_gets_table_figure_and_report() {
    let desk = desk();
    let (text, talk) = desk.done(LINE);
    let line = |id: &str| text.lines().find(|line| line.contains(id)).unwrap().to_owned();
    assert!(line("T-one-c1").contains("holds") && !line("T-one-c1").contains("does not"), "{text}");
    assert!(line("T-one-c2").contains("does not hold"), "{text}");
    assert!(text.contains("1 claims hold, 1 do not, 0 are unclear"), "{text}");
    assert!(talk.contains("6 runs made, 0 found in the store"), "{talk}");
    assert_eq!(desk.read("results/T-one/runs.csv").lines().count(), 1 + 3 * 2);
    assert!(desk.read("results/T-one/goodput.svg").starts_with("<svg"));
    let page = desk.read("results/report.html");
    for part in ["<html", "<svg", "T-one-c2", "does not hold", "Nothing can.", "Do losses harm?"] {
        assert!(page.contains(part), "{part}");
    }
    for part in [
        "Seeds 1 to 2. Made by <code>polypath reproduce T-one --quick</code>.",
        "role=\"img\">\n<title>Goodput over loss</title>\n<desc>goodput (Mbit/s) over loss (%).",
        "prefers-color-scheme: dark",
        "name=\"viewport\"",
        "<div class=\"scroll\"><table>",
        // What the script looks for.
        "<td class=\"id\" id=\"T-one-c2\">",
        "<span class=\"does-not-hold\">",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["src=\"http", "href=\"http", "<script src", "@import"] {
        assert!(!page.contains(outside), "the page stands alone: {outside}");
    }
}

#[test]
fn json_is_alone_on_stdout_and_finished_runs_are_found_again() {
    let desk = desk();
    let (text, _) = desk.done(&format!("{LINE} --json"));
    let reports: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(reports[0]["id"], "T-one");
    assert_eq!(reports[0]["claims"][1]["verdict"], "does-not-hold");
    let (again, talk) = desk.done(&format!("{LINE} --json"));
    assert_eq!(again, text);
    assert!(talk.contains("0 runs made, 6 found in the store"), "{talk}");
    let (_, talk) = desk.done(&format!("{LINE} --seeds 3"));
    assert!(talk.contains("3 runs made, 6 found in the store"), "{talk}");
}

/// As installed: nothing but the program, in a folder without a checkout.
#[test]
fn the_program_carries_the_papers_experiments_and_their_data() {
    let desk = Desk::new();
    let (text, talk) = desk.done("reproduce S3-F2-formulas --quick --json");
    let reports: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(reports[0]["claims"][0]["id"], "S3-F2-c3", "{talk}");
    // Its reference data are read and compared with its axes.
    let (text, _) = desk.done("reproduce S1-F3 --check");
    assert!(text.starts_with("S1-F3: 2 claims"), "{text}");
}

/// On one core and on all, whatever ends first.
#[test]
fn two_runs_leave_the_same_files_byte_for_byte() {
    let desk = desk();
    let line = format!("{LINE} --seeds 4");
    let one = desk.with_cores("1", &format!("{line} --out one"));
    let all = desk.with_cores("0", &format!("{line} --out all"));
    assert_eq!(one, all);
    // Segments have runs in the order in which they ended: those are compared below, by their keys.
    let results = |folder: &str| -> Vec<_> {
        let all = files(&desk.path(folder)).into_iter();
        all.filter(|(name, _)| !name.ends_with(".seg")).collect()
    };
    let (one_files, all_files) = (results("one"), results("all"));
    let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
        files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&one_files), names(&all_files));
    assert!(one_files.len() >= 3, "{:?}", names(&one_files));
    for ((name, one), (_, all)) in one_files.iter().zip(&all_files) {
        assert!(one == all, "{name} differs");
    }
    assert_eq!(desk.stored("one"), desk.stored("all"));
}

#[test]
fn tables_come_beside_the_figures_and_on_pages() {
    let desk = desk();
    let table = r#"
[[table]]
name = "all"
title = "All"
page = "losses-compared"
columns = "loss"
cells = [
    { name = "goodput", of = { metric = "goodput" } },
    { name = "of the best path", of = { metric = "best-path-share" } },
]
"#;
    let claims = EXPERIMENT.replace("T-one", "T-two");
    desk.write("papers/T/two.toml", format!("{TINY}{claims}{table}"));
    let (_, talk) = desk.done("reproduce T-two --scenarios papers --quick --tables pages");
    assert!(talk.contains("tables: pages/losses-compared.md"), "{talk}");
    let page = desk.read("pages/losses-compared.md");
    let head =
        "# Losses compared\n\nMade by `polypath reproduce T-two --quick --tables pages`; the same";
    assert!(page.starts_with(head), "{page}");
    let columns = "|  | 0 % | 2 % | 4 % |\n|---|---|---|---|\n| goodput Mbit/s |";
    assert!(page.contains(columns), "{page}");
    assert!(page.contains("| of the best path % |"), "{page}");
    assert!(desk.read("results/T-two/all.md").starts_with("# All\n\n|  | 0 %"));
    assert!(desk.read("results/report.html").contains("of the best path %"));
}

#[test]
fn mistakes_are_one_line_each() {
    let desk = desk();
    assert!(
        desk.refusal("reproduce T-two --scenarios papers").contains("\"T-two\" (allowed: T-one)")
    );
    assert!(desk.refusal("reproduce T-two --check --scenarios papers").contains("\"T-two\""));
    assert!(desk.refusal("reproduce --scenarios nowhere").contains("nowhere"));
    desk.write("empty/plain.toml", TINY);
    assert!(desk.refusal("reproduce --scenarios empty").contains("empty: no experiment files"));
    assert!(desk.refusal("reproduce --check --scenarios empty").contains("no experiment files"));
    let (text, _) = desk.done("reproduce --check --scenarios papers");
    assert_eq!(text, "T-one: 2 claims, 12 runs\n");
    let wrong = EXPERIMENT.replace("metric = \"goodput\", where", "metric = \"godput\", where");
    desk.write("papers/T/two.toml", format!("{TINY}{}", wrong.replace("T-one", "T-two")));
    let output = desk.run("reproduce --check --scenarios papers");
    assert_eq!(output.status.code(), Some(2));
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.contains("two.toml:") && talk.contains("\"godput\""), "{talk}");
}
