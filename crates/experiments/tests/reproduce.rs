//! A small experiment from file to verdicts: resuming, repeating, breaking the stack, mistakes in
//! files.

use std::fs;
use std::path::PathBuf;

use polypath_experiments::experiment::Experiment;
use polypath_experiments::reproduce::{
    ExperimentReport, Options, Study, collect_jobs, execute_jobs, judge_study, prepare_study,
};
use polypath_experiments::store::Store;
use tempfile::TempDir;

/// Two unlike paths and lossy links: what CUC is for.
const FILE: &str = r#"
[path.A]
rate = "5Mbit/s"
delay = "10ms"
loss = "0.5%"
[path.B]
rate = "5Mbit/s"
delay = "60ms"
[stack]
cuc = "v2"
sfr = true
[[flow]]
app = "saturated"
unordered = true
[time]
settle = "2s"
measure = "10s"
[seeds]
count = 4
[[sweep]]
name = "buffer"
set = ["stack.receive-buffer", "stack.send-buffer"]
values = ["64KiB", "512KiB"]

[experiment]
id = "T-1"
title = "A test"
source = "none"
question = "Does it work?"
quick = { seeds = 2, set = { "time.measure" = "5s" } }

[[claim]]
id = "T-1-c1"
kind = "Q"
says = "With large buffers both paths are used well."
test = { of = { metric = "goodput", where = { buffer = "512KiB" } }, at-least = "5Mbit/s" }

[[claim]]
id = "T-1-c2"
kind = "q"
says = "Larger buffers help."
test = { increasing = { metric = "goodput" }, over = "buffer" }
"#;

struct Lab {
    folder: TempDir,
}

impl Lab {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("1.toml");
        fs::write(&path, text).unwrap();
        path
    }

    fn study(&self, text: &str, options: Options) -> Result<Study, String> {
        let experiment =
            Experiment::from_file(&self.file(text)).map_err(|error| error.to_string())?;
        prepare_study(experiment, options).map_err(|error| error.to_string())
    }

    /// The report, and how many runs were made.
    fn run(&self, text: &str, store: &str) -> (ExperimentReport, usize) {
        let study = self.study(text, Options::default()).unwrap();
        let mut store = Store::open(&self.folder.path().join(store)).unwrap();
        let made = execute_jobs(&collect_jobs([&study]), &mut store, &|_| {}).unwrap();
        (judge_study(&study, &store).unwrap().0, made)
    }

    fn refusal(&self, from: &str, to: &str) -> String {
        let text = FILE.replacen(from, to, 1);
        assert_ne!(text, FILE, "{from}");
        let error = self.study(&text, Options::default()).unwrap_err();
        error.replace(&self.folder.path().display().to_string(), "")
    }
}

#[test]
fn tables_that_name_what_does_not_exist_are_refused() {
    let lab = Lab::new();
    let table = r#"
[[table]]
name = "all"
title = "All"
columns = "buffer"
cells = [{ name = "limit", of = { metric = "limit" } }]
"#;
    let text = format!("{FILE}{table}");
    assert!(lab.study(&text, Options::default()).is_ok());
    let wrong =
        lab.study(&text.replace("columns = \"buffer\"", "columns = \"delay\""), Options::default());
    assert!(wrong.unwrap_err().ends_with("table[0]: no grid has an axis \"delay\""));
    let wrong = text.replace("metric = \"limit\"", "metric = \"limits\"");
    let wrong = lab.study(&wrong, Options::default()).unwrap_err();
    assert!(wrong.contains("table[0]: no metric \"limits\" here"), "{wrong}");
}

fn verdicts(report: &ExperimentReport) -> Vec<String> {
    report.claims.iter().map(|claim| claim.finding.verdict.to_string()).collect()
}

#[test]
fn finished_runs_are_found_again_and_changed_points_are_not() {
    let lab = Lab::new();
    let (first, made) = lab.run(FILE, "store");
    assert_eq!((verdicts(&first), made), (vec!["holds".into(), "holds".into()], 8));
    let (again, made) = lab.run(FILE, "store");
    assert_eq!(made, 0);
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    let (_, made) = lab.run(&FILE.replace("count = 4", "count = 6"), "store");
    assert_eq!(made, 4, "two more seeds at two points");
    let (_, made) = lab.run(&FILE.replace("says = \"Larger", "says = \"Much larger"), "store");
    assert_eq!(made, 0, "words do not count");
    let (_, made) = lab.run(&FILE.replace("60ms", "61ms"), "store");
    assert_eq!(made, 8);
}

#[test]
fn an_interrupted_set_goes_on_where_it_stopped() {
    let lab = Lab::new();
    let study = lab.study(FILE, Options::default()).unwrap();
    let all = collect_jobs([&study]);
    let mut store = Store::open(&lab.folder.path().join("store")).unwrap();
    execute_jobs(&all[..3], &mut store, &|_| {}).unwrap();
    drop(store);
    assert_eq!(lab.run(FILE, "store").1, all.len() - 3);
}

#[test]
fn two_runs_are_equal_bit_for_bit() {
    let lab = Lab::new();
    let rows = |name: &str| {
        lab.run(FILE, name);
        let store = Store::open(&lab.folder.path().join(name)).unwrap();
        let row = |key| format!("{key} {:?}", store.find_row(&key).unwrap());
        store.keys().map(row).collect::<Vec<_>>()
    };
    assert_eq!(rows("one"), rows("two"));
}

#[test]
fn a_broken_stack_turns_verdicts() {
    let lab = Lab::new();
    let broken = FILE.replace("cuc = \"v2\"", "cuc = \"off\"").replace("sfr = true", "sfr = false");
    let (report, _) = lab.run(&broken, "store");
    assert_eq!(verdicts(&report)[0], "does not hold", "{:?}", report.claims[0].finding);
}

/// Without CUC and SFR, as a reading.
const READING: &str = r#"
[[alternative]]
name = "no CUC, no SFR"
why = "a test"
reading = true
set = { "stack.cuc" = "off", "stack.sfr" = false }
"#;

#[test]
fn a_reading_is_judged_in_full_whatever_the_options() {
    let lab = Lab::new();
    let text = format!("{FILE}{READING}");
    // Neither quick runs nor the few seeds of alternatives: all points, with the file's seeds.
    let (report, made) = lab.run(&text, "store");
    assert_eq!(made, 16);
    let other = |n: usize| report.claims[n].readings[0].finding.verdict.to_string();
    assert_eq!((verdicts(&report)[0].as_str(), other(0).as_str()), ("holds", "does not hold"));
    assert!(!report.claims[0].holds_by_every_reading());
    let [reading] = &report.readings[..] else { panic!("one reading") };
    let held = (0..2).filter(|n| other(*n) == "holds").count();
    assert_eq!((reading.seeds, reading.hold), (4, held));
    assert!(report.sensitivity.is_empty());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["claims"][0]["readings"][0]["reading"], "no CUC, no SFR");
    assert_eq!(json["claims"][0]["readings"][0]["verdict"], "does-not-hold");
    // Without the word it is an alternative, which only sensitivity runs.
    let (plain, _) = lab.run(&text.replace("reading = true\n", ""), "store");
    assert!(plain.readings.is_empty() && plain.claims[0].readings.is_empty());
}

#[test]
fn readings_that_judge_a_part_or_change_nothing_are_refused() {
    let lab = Lab::new();
    for (set, part) in [
        ("claims = [\"T-1-c1\"]\nset = { \"stack.sfr\" = false }", "alternative[0].claims"),
        ("", "alternative[0].reading = true: changes nothing"),
        ("set = { \"stack.srf\" = false }", "stack.srf"),
    ] {
        let text = format!("{FILE}[[alternative]]\nname = \"r\"\nreading = true\n{set}\n");
        let error = lab.study(&text, Options::default()).unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn mistakes_in_files_are_one_line_each() {
    let lab = Lab::new();
    for (from, to, part) in [
        ("\"T-1-c2\"", "\"T-1-c1\"", "claim[1].id = \"T-1-c1\": another claim has this id"),
        ("metric = \"goodput\", where", "metric = \"godput\", where", "no metric \"godput\" here"),
        ("buffer = \"512KiB\" } }", "buffer = \"1MiB\" } }", "has no buffer \"1MiB\""),
        ("kind = \"q\"", "kind = \"x\"", "claim[1].kind"),
        ("over = \"buffer\"", "over = \"bufer\"", "no grid has an axis \"bufer\""),
        ("quick = {", "qick = {", "unknown field qick"),
        ("at-least = \"5Mbit/s\"", "at-least = \"fast\"", "claim[0].test"),
        ("rate = \"5Mbit/s\"", "rate = 5", "path.A.rate"),
    ] {
        let error = lab.refusal(from, to);
        assert!(error.contains(part), "{to}: {error}");
        assert!(error.starts_with("/1.toml:") && !error.contains('\n'), "{error}");
    }
}
