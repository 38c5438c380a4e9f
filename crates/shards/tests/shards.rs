//! Plans run in shards, in any order, interrupted and damaged: the same figures as in one process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use polypath_experiments::reproduce::{SweepRow, judge_sweep};
use polypath_scenario::{Axis, Policies, Scalar, Source};
use polypath_shards::{
    Done, Plan, Prepared, Sample, SeedRange, Shard, ShardError, Work, find_segments, join_segments,
    run_shard, verify_segments, watch_segments,
};

const SCENARIO: &str = "
    path.A = { rate = '10Mbit/s', delay = '10ms', loss = '1%' }
    path.B = { rate = '5Mbit/s', delay = '10ms' }
    flow = [{ app = 'file', size = '60kB' }]
";

/// Three delays with so many seeds each.
fn plan(seeds: SeedRange) -> Plan {
    let mut source = Source::new("crossing.toml", SCENARIO).unwrap();
    let values = ["1ms", "10ms", "50ms"].map(|delay| Scalar::Text(delay.to_owned()));
    let axis =
        Axis { set: vec!["path.B.delay".into()], values: values.to_vec(), ..Axis::default() };
    source.set_axes(&[axis]).unwrap();
    let metrics = ["transfer-time".to_owned(), "goodput".to_owned()];
    Plan::of_sweep(source, &Policies::default(), seeds, &metrics).unwrap()
}

const FIRST: SeedRange = SeedRange { from: 0, to: 10 };

fn run(plan: &Plan, number: u32, of: u32, folder: &Path) -> Result<Done, ShardError> {
    run_shard(plan, Shard { number, of }, folder, 1, &|_done| (), &|| false)
}

fn rows(words: &[PathBuf]) -> Vec<SweepRow> {
    let joined = join_segments(words).unwrap();
    let Prepared::Sweep { study, metrics } = joined.plan.prepare().unwrap() else {
        panic!("a sweep");
    };
    judge_sweep(&study, &metrics, &joined.store).unwrap().1
}

/// Every figure, to the bit.
fn text(words: &[PathBuf]) -> String {
    format!("{:?}", rows(words))
}

#[test]
fn shards_in_any_number_and_order_come_to_the_same_figures() {
    let plan = plan(FIRST);
    let whole = tempfile::tempdir().unwrap();
    assert_eq!(run(&plan, 1, 1, whole.path()).unwrap().rows, 30);
    let one = text(&[whole.path().to_owned()]);
    let folder = tempfile::tempdir().unwrap();
    let made: Vec<usize> = [4, 7, 1, 3, 6, 2, 5]
        .map(|number| run(&plan, number, 7, folder.path()).unwrap().made)
        .to_vec();
    assert_eq!(made.iter().sum::<usize>(), 30, "{made:?}");
    assert_eq!(text(&[folder.path().join("*.seg")]), one);
    let mut backwards = find_segments(&[folder.path().to_owned()]).unwrap();
    assert_eq!(backwards.len(), 7);
    backwards.reverse();
    assert_eq!(text(&backwards), one);
    // Again: nothing is left to do.
    assert_eq!(run(&plan, 4, 7, folder.path()).unwrap().made, 0);
}

#[test]
fn a_plan_is_read_as_it_was_written_and_rubbish_is_refused() {
    let (plan, folder) = (plan(FIRST), tempfile::tempdir().unwrap());
    let path = plan.write(folder.path()).unwrap();
    assert_eq!(Plan::read(folder.path()).unwrap(), plan);
    assert_eq!(Plan::read(folder.path()).unwrap().id(), plan.id());
    fs::write(&path, "{}").unwrap();
    let error = Plan::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("plan.json: no plan: missing field"), "{error}");
    let error = Plan::read(&folder.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
    let other = Plan { stack: "0.0.0-ffff".into(), ..plan.clone() };
    let error = run(&other, 1, 1, folder.path()).unwrap_err().to_string();
    assert!(error.starts_with("the plan is of stack 0.0.0-ffff, this program of"), "{error}");
    let other = Plan { selftest: "0".into(), ..plan };
    let error = run(&other, 1, 1, folder.path()).unwrap_err();
    assert!(matches!(error, ShardError::OtherBits { .. }), "{error}");
    assert!(find_segments(&[folder.path().to_owned()]).is_err(), "nothing was run");
}

#[test]
fn what_an_interrupted_worker_finished_is_not_run_again() {
    let (plan, folder) = (plan(FIRST), tempfile::tempdir().unwrap());
    let done = run(&plan, 1, 2, folder.path()).unwrap();
    let all = text(&[folder.path().to_owned()]);
    // As a killed process leaves it: a part, with its last block cut off.
    let bytes = fs::read(&done.path).unwrap();
    let part = done.path.with_extension("part1");
    for cut in [0, 4, 8, 100, bytes.len() / 2, bytes.len() - 1, bytes.len()] {
        fs::remove_file(&done.path).unwrap();
        fs::write(&part, &bytes[..cut]).unwrap();
        let again = run(&plan, 1, 2, folder.path()).unwrap();
        assert_eq!(again.rows, done.rows, "{cut}");
        let kept = if cut == bytes.len() { done.rows } else { 0 };
        assert_eq!(again.made, done.rows - kept, "{cut}: one block has all rows");
        assert_eq!(text(&[folder.path().to_owned()]), all, "{cut}");
        assert!(!part.exists());
    }
}

#[test]
fn a_damaged_segment_is_told_and_its_shard_runs_again_what_it_lost() {
    let (plan, folder) = (plan(FIRST), tempfile::tempdir().unwrap());
    for number in [1, 2] {
        run(&plan, number, 2, folder.path()).unwrap();
    }
    let words = [folder.path().to_owned()];
    let before = text(&words);
    let path = find_segments(&words).unwrap().remove(1);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 5;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let joined = join_segments(&words).unwrap();
    assert_eq!((joined.damage.len(), &joined.damage[0].0), (1, &path));
    let missing = joined.find_missing().unwrap();
    let [(_, shard, lacks, all)] = missing[..] else { panic!("{missing:?}") };
    assert_eq!((shard.to_string().as_str(), lacks), ("2/2", all));
    let again = run(&plan, 2, 2, folder.path()).unwrap();
    assert_eq!((again.damage.len(), again.made), (1, lacks));
    assert_eq!(text(&words), before);
    assert!(join_segments(&words).unwrap().find_missing().unwrap().is_empty());
}

#[test]
fn a_later_round_adds_seeds_and_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    run(&plan(FIRST), 1, 1, folder.path()).unwrap();
    let next = plan(SeedRange { from: 10, to: 15 });
    assert_eq!(run(&next, 1, 1, folder.path()).unwrap().made, 15);
    let both = text(&[folder.path().to_owned()]);
    let whole = tempfile::tempdir().unwrap();
    run(&plan(SeedRange { from: 0, to: 15 }), 1, 1, whole.path()).unwrap();
    assert_eq!(both, text(&[whole.path().to_owned()]));
}

#[test]
fn segments_of_other_plans_are_not_mixed_in() {
    let folder = tempfile::tempdir().unwrap();
    run(&plan(FIRST), 1, 1, folder.path()).unwrap();
    let mut other = plan(FIRST);
    if let Work::Sweep { metrics, .. } = &mut other.work {
        metrics.truncate(1);
    }
    run(&other, 1, 1, folder.path()).unwrap();
    let error = join_segments(&[folder.path().to_owned()]).unwrap_err();
    assert!(matches!(error, ShardError::MixedPlans { .. }), "{error}");
}

#[test]
fn rows_are_verified_by_running_them_again() {
    let (plan, folder) = (plan(FIRST), tempfile::tempdir().unwrap());
    let words = [folder.path().to_owned()];
    run(&plan, 1, 1, folder.path()).unwrap();
    let sample = |text: &str| text.parse::<Sample>().unwrap();
    let all = verify_segments(&words, sample("100%"), &|_| ()).unwrap();
    assert_eq!((all.rows, all.compared, all.different), (30, 30, 0));
    let few = verify_segments(&words, sample("0.001%"), &|_| ()).unwrap();
    assert_eq!((few.compared, few.different), (1, 0));
    for text in ["0", "0%", "101%", "-1", "x", ""] {
        assert!(text.parse::<Sample>().is_err(), "{text}");
    }
}

#[test]
fn how_far_shards_are_is_told_by_their_files() {
    let (plan, folder) = (plan(FIRST), tempfile::tempdir().unwrap());
    let words = [folder.path().to_owned()];
    assert!(watch_segments(&words).unwrap().is_empty());
    run(&plan, 1, 3, folder.path()).unwrap();
    let done = run(&plan, 2, 3, folder.path()).unwrap();
    fs::rename(&done.path, done.path.with_extension("part1")).unwrap();
    let [work] = &watch_segments(&words).unwrap()[..] else { panic!("one plan") };
    assert_eq!((work.plan.as_str(), work.shards, work.begun.len()), (plan.id().as_str(), 3, 2));
    assert_eq!((work.count_whole(), work.is_whole()), (1, false));
    assert!((work.fraction() - 2.0 / 3.0).abs() < 1e-9);
    run(&plan, 2, 3, folder.path()).unwrap();
    run(&plan, 3, 3, folder.path()).unwrap();
    assert!(watch_segments(&words).unwrap()[0].is_whole());
}

#[test]
fn a_population_is_drawn_in_shards() {
    let draws = polypath_population::Plan {
        population: polypath_population::Population { seed: 7, packets: 1_000 },
        draws: 5,
        schedulers: vec!["rr".into()],
        jobs: 1,
        policies: Policies::default(),
    };
    let (plan, folder) = (Plan::of_population(&draws).unwrap(), tempfile::tempdir().unwrap());
    for number in [2, 1, 3] {
        run(&plan, number, 3, folder.path()).unwrap();
    }
    let words = [folder.path().to_owned()];
    let joined = join_segments(&words).unwrap();
    let numbers: Vec<u64> = joined.records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let alone = polypath_population::run_draw(&draws, 3).unwrap();
    assert_eq!(joined.records[3], alone);
    let all = verify_segments(&words, "100%".parse().unwrap(), &|_| ()).unwrap();
    assert_eq!((all.compared, all.different), (5, 0));
    // One that was ended goes on where it was.
    let path = find_segments(&words).unwrap().remove(0);
    let bytes = fs::read(&path).unwrap();
    fs::write(path.with_extension("part1"), &bytes[..bytes.len() - 3]).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(join_segments(&words).unwrap().find_missing().unwrap().len(), 1);
    assert_eq!(run(&plan, 1, 3, folder.path()).unwrap().made, 1);
    assert_eq!(join_segments(&words).unwrap().records, joined.records);
}

#[test]
fn a_shard_that_is_stopped_keeps_what_it_made_and_another_process_may_not_write_meanwhile() {
    let (plan, folder) = (plan(FIRST), tempfile::tempdir().unwrap());
    let done = AtomicUsize::new(0);
    let seen = |_: f64| {
        done.fetch_add(1, Ordering::Relaxed);
        // This one has not ended.
        let error = run(&plan, 1, 1, folder.path()).unwrap_err();
        assert!(matches!(error, ShardError::Busy(_)), "{error}");
    };
    let stop = || done.load(Ordering::Relaxed) >= 3;
    let shard = Shard { number: 1, of: 1 };
    let error = run_shard(&plan, shard, folder.path(), 1, &seen, &stop).unwrap_err().to_string();
    assert!(error.contains("ended before all runs were made"), "{error}");
    let again = run(&plan, 1, 1, folder.path()).unwrap();
    assert_eq!((again.rows, again.made), (30, 27));
}

#[test]
fn plans_that_no_command_makes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let draws = Work::Population { seed: 1, packets: 1_000, draws: u64::MAX, schedulers: vec![] };
    let endless = SeedRange { from: 0, to: u32::MAX };
    let mut works = vec![draws];
    if let Work::Sweep { name, scenario, metrics, .. } = plan(FIRST).work {
        works.push(Work::Sweep { name, scenario, metrics, seeds: endless });
    }
    for work in works {
        let other = Plan { work, ..plan(FIRST) };
        other.write(folder.path()).unwrap();
        let error = Plan::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("(allowed: "), "{error}");
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let plan = plan(FIRST);
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = run(&plan, 1, 1, &file.path().join("below")).unwrap_err().to_string();
    assert!(error.starts_with(&file.path().display().to_string()), "{error}");
}
