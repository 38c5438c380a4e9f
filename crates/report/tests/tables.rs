//! A table of a small experiment, from file to text.

use polypath_experiments::evaluate::Evaluator;
use polypath_experiments::experiment::Experiment;
use polypath_experiments::reproduce::{
    Options, collect_jobs, execute_jobs, judge_study, prepare_study,
};
use polypath_experiments::store::Store;
use polypath_report::figure::tabulate_results;

/// Two unlike paths with lossy links, and two sizes of buffers.
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

[[table]]
name = "all"
title = "All"
columns = "buffer"
intervals = false
cells = [
    { name = "goodput", of = { metric = "goodput" } },
    { name = "gain", share = true, of = { ratio = [{ metric = "goodput" }, { metric = "goodput", where = { buffer = "64KiB" } }] } },
    { name = "limit", of = { metric = "limit" } },
]
"#;

#[test]
fn tables_have_axes_down_and_across_and_a_unit_per_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.toml");
    std::fs::write(&path, FILE).unwrap();
    let study = prepare_study(Experiment::from_file(&path).unwrap(), Options::default()).unwrap();
    let mut store = Store::open(&folder.path().join("store")).unwrap();
    execute_jobs(&collect_jobs([&study]), &mut store, &|_| {}).unwrap();
    let (_, stored) = judge_study(&study, &store).unwrap();
    let filled = tabulate_results(&study.experiment.tables[0], &Evaluator::new(&stored)).unwrap();
    let (heading, rows) = &filled.panels[0];
    assert_eq!((heading.as_str(), filled.panels.len()), ("", 1));
    assert_eq!(rows.head, ["", "64 KiB", "512 KiB"]);
    // Lossy paths have no limit, so that row has no value and is left out.
    let names: Vec<&str> = rows.rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["goodput Mbit/s", "gain %"]);
    assert_eq!(rows.rows[1][1], "100");
    assert!(rows.rows.iter().flatten().all(|cell| !cell.contains("+-")));
}
