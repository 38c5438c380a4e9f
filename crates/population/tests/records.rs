//! Records of draws: kept, found again, and summarized.

use std::fs;

use polypath_population::summary::Summary;
use polypath_population::{Plan, Population, Record, Records, execute, run_draw, summary_text};
use polypath_scenario::Policies;

fn plan(draws: u64) -> Plan {
    let population = Population { seed: 3, packets: 2_000 };
    Plan {
        population,
        draws,
        schedulers: vec!["rr".to_owned()],
        jobs: 2,
        policies: Policies::default(),
    }
}

fn run_all(plan: &Plan, records: &mut Records) -> Vec<Record> {
    execute(plan, records, &|_| (), &|| false).expect("every draw runs")
}

#[test]
fn an_interrupted_population_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(Records::FILE);
    let mut records = Records::open(folder.path(), false).unwrap();
    let first = run_all(&plan(4), &mut records);
    assert!(Records::open(folder.path(), false).is_err(), "records are never lost");
    // The last line was not whole when the program ended.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.get(..text.len() - 9).unwrap()).unwrap();
    let mut records = Records::open(folder.path(), true).unwrap();
    let all = run_all(&plan(6), &mut records);
    assert_eq!(all.len(), 6);
    assert_eq!(all.get(..4), first.get(..4));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 6);
}

#[test]
fn records_of_another_program_are_not_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(Records::FILE);
    let first = run_all(&plan(2), &mut Records::open(folder.path(), false).unwrap());
    let text = fs::read_to_string(&file).unwrap();
    let key = first.first().unwrap().key.clone();
    fs::write(&file, text.replace(&key, "another")).unwrap();
    let again = run_all(&plan(2), &mut Records::open(folder.path(), true).unwrap());
    assert_eq!(again, first);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3, "one of two was run again");
}

#[test]
fn once_told_to_stop_no_draw_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = Records::open(folder.path(), false).unwrap();
    let done = execute(&plan(4), &mut records, &|_| (), &|| true).unwrap();
    assert!(done.is_empty());
}

#[test]
fn a_line_that_is_no_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(Records::FILE), "{}\n").unwrap();
    let error = Records::open(folder.path(), true).unwrap_err().to_string();
    assert!(error.contains("draws.jsonl:1: no draw: missing field"), "{error}");
}

#[test]
fn a_draw_has_the_same_record_every_time() {
    let plan = plan(4);
    for number in 0..plan.draws {
        assert_eq!(run_draw(&plan, number).unwrap(), run_draw(&plan, number).unwrap());
    }
}

/// Records with known figures, summarized.
#[test]
fn a_summary_counts_what_is_below() {
    let plan = plan(8);
    let folder = tempfile::tempdir().unwrap();
    let mut records = run_all(&plan, &mut Records::open(folder.path(), false).unwrap());
    for (n, record) in records.iter_mut().enumerate() {
        record.alone.outcome.performance = 100.0;
        record.ours.performance = [50.0, 98.9, 99.1, 100.0, 200.0, 200.0, 200.0, 200.0][n];
        record.others.get_mut("rr").unwrap().performance = 100.0;
    }
    let summary = Summary::of_records(plan.population, &records);
    let all = &summary.classes[0];
    assert_eq!((all.below.count, all.below.of), (2, 8));
    assert_eq!(all.ratio.unwrap().p1, 0.5);
    assert_eq!(all.ratio.unwrap().p50, 1.0);
    let worst: Vec<u64> = summary.worst.iter().map(|worst| worst.number).collect();
    assert_eq!(worst, [0, 1]);
    let rr = &summary.schedulers[0];
    let mean = (0.5 * 0.989 * 0.991 * 16.0_f64).powf(1.0 / 8.0);
    assert!((rr.mean - mean).abs() < 1e-9, "{}", rr.mean);
    assert_eq!((rr.better.count, rr.below.count), (2, 0));
    assert!(summary_text(&summary).contains("| all "));
}
