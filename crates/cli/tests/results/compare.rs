//! `polypath compare`.

use crate::desk::{Desk, noise};

const HEADER: &str = "grid,loss,seed,goodput";

/// A desk with two tables.
fn desk(first: &[&str], second: &[&str]) -> Desk {
    let desk = Desk::new();
    for (name, rows) in [("a.csv", first), ("b.csv", second)] {
        desk.write(name, format!("{HEADER}\n{}\n", rows.join("\n")));
    }
    desk
}

#[test]
fn differences_are_paired_by_seed() {
    // By seed the second is better by 10, 11 and 12; the order of its rows differs.
    let desk = desk(
        &["main,1%,1,100", "main,1%,2,200", "main,1%,3,300"],
        &["main,1%,3,312", "main,1%,1,110", "main,1%,2,211"],
    );
    let rows = desk.json("compare a.csv b.csv --json");
    let row = &rows[0];
    assert_eq!((row["first"].as_f64(), row["second"].as_f64()), (Some(200.0), Some(211.0)));
    let (mean, half) =
        (row["difference"][0].as_f64().unwrap(), row["difference"][1].as_f64().unwrap());
    // Three differences with standard deviation 1: 4.303 / sqrt(3).
    assert!((mean - 11.0).abs() < 1e-9 && (half - 2.484).abs() < 1e-3, "{mean} +- {half}");
    assert_eq!(row["differs"], true);
    let text = desk.done("compare a.csv b.csv").0;
    let lines: Vec<&str> = text.lines().collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines[0], "goodput (bit/s)");
    assert_eq!(words(lines[2]), ["loss", "first", "second", "difference"]);
    assert_eq!(words(lines[3]), ["1", "%", "200", "211", "11.00", "+-", "2.48", "*"]);
    let latex = desk.done("compare a.csv b.csv --format latex").0;
    assert!(latex.contains("\n1 \\% & 200 & 211 & $11.00 \\pm 2.48$ & * \\\\\n"), "{latex}");
    let csv = desk.done("compare a.csv b.csv --format csv").0;
    assert!(csv.starts_with("loss,metric,unit,first,second,difference,half_width,differs\n"));
    assert!(
        csv.contains("\n1%,goodput,bit/s,200,211,11,2.48") && csv.ends_with(",true\n"),
        "{csv}"
    );
}

#[test]
fn only_what_both_have_is_compared_and_the_rest_is_named() {
    let desk = desk(
        &["main,1%,1,10", "main,1%,2,12", "main,1%,3,50", "main,2%,1,5", "main,2%,2,6"],
        &["main,1%,2,13", "main,1%,3,51", "main,1%,4,70", "main,3%,1,5", "main,3%,2,6"],
    );
    let (text, talk) = desk.done("compare a.csv b.csv --json");
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["at"]["loss"], "1%");
    assert_eq!((rows[0]["first"].as_f64(), rows[0]["second"].as_f64()), (Some(31.0), Some(32.0)));
    assert!(talk.contains("only in a.csv: loss 2%") && talk.contains("only in b.csv: loss 3%"));
}

#[test]
fn sweeps_of_two_settings_compare_more_narrowly_than_they_measure() {
    let desk = Desk::new();
    let lossy = "sweep tiny.toml --axis path.A.loss=1%,2% --seeds 4";
    desk.done(&format!("{lossy} --out before"));
    desk.done(&format!("{lossy} --set path.A.delay=11ms --out after"));
    let text = desk.done("compare before/tiny/runs.csv after/tiny/runs.csv --metric bytes").0;
    assert_eq!(text.lines().filter(|line| line.contains(" % ")).count(), 2 + 1, "{text}");
    let same = desk.done("compare before/tiny/runs.csv before/tiny/runs.csv --format csv").0;
    assert_eq!(same.lines().filter(|line| line.ends_with(",0,0,false")).count(), 2, "{same}");
}

#[test]
fn mistakes_are_one_line() {
    let desk = desk(&["main,1%,1,10", "main,1%,2,12"], &["main,2%,1,10", "main,2%,2,inf"]);
    desk.write("axis.csv", "grid,delay,seed,goodput\nmain,1ms,1,3\n");
    desk.write("none.csv", format!("{HEADER}\n"));
    desk.write("noise.csv", noise());
    for (words, part) in [
        ("a.csv b.csv", "no point and seed in common"),
        ("a.csv axis.csv", "axes differ: loss and delay"),
        ("a.csv none.csv", "none.csv: cannot be read: no runs"),
        ("a.csv noise.csv", "noise.csv: cannot be read"),
        ("missing.csv a.csv", "missing.csv: cannot be read"),
        ("a.csv a.csv --metric godput", "no metric \"godput\""),
        ("b.csv b.csv", "goodput has no value in 1 of 2 runs"),
    ] {
        let talk = desk.refusal(&format!("compare {words}"));
        assert!(talk.starts_with("polypath: ") && talk.contains(part), "{words}: {talk}");
    }
}
