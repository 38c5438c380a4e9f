//! Claims can fail: the papers' own experiments on a stack with parts of CMT taken out.

use std::fs;
use std::path::Path;

use polypath_experiments::evaluate::{Verdict, collect_needs};
use polypath_experiments::experiment::{Alternative, Cases, Experiment};
use polypath_experiments::reproduce::{
    Flip, Job, Options, Study, collect_jobs, execute_jobs, judge_study, prepare_study,
};
use polypath_experiments::store::Store;
use polypath_scenario::{Scalar, Scenario};

/// An experiment, how its quick run becomes quicker still, and claims that hold.
struct Case {
    file: &'static str,
    quick: [&'static str; 2],
    claims: &'static [&'static str],
}

/// Round robin and the fixed mapping over two loss-free paths of different bandwidth.
const BANDWIDTHS: Case = Case {
    file: "papers/dreibholz-2010/figure-6.toml",
    quick: ["\"time.measure\" = \"20s\"", "\"time.settle\" = \"5s\", \"time.measure\" = \"5s\""],
    claims: &["S0-F6-c1", "S0-F6-c4"],
};

#[test]
fn without_cuc_and_sfr_the_claims_of_s0_figure_6_fail() {
    let broken = [("stack.cuc", Scalar::Text("off".into())), ("stack.sfr", Scalar::Switch(false))];
    let (before, flips) = judged(&BANDWIDTHS, &broken);
    assert_eq!(before, [Verdict::Holds; 2], "as it stands");
    let after: Vec<Verdict> = flips.iter().map(|flip| flip.to).collect();
    assert_eq!(after, [Verdict::DoesNotHold; 2], "{flips:?}");
}

/// Verdicts as the experiment stands, and those that the settings change.
fn judged(case: &Case, broken: &[(&str, Scalar)]) -> (Vec<Verdict>, Vec<Flip>) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { quick: true, sensitivity: true, ..Options::default() };
    let study = prepare_study(experiment(case, broken, folder.path()), options).unwrap();
    let mut store = Store::open(&folder.path().join("runs")).unwrap();
    execute_jobs(&needed(&study), &mut store, &|_| {}).unwrap();
    let (report, _) = judge_study(&study, &store).unwrap();
    let verdicts = report.claims.iter().map(|claim| claim.finding.verdict).collect();
    (verdicts, report.sensitivity.into_iter().flat_map(|broken| broken.flips).collect())
}

/// The experiment with these claims alone, and the broken stack as its only alternative.
fn experiment(case: &Case, broken: &[(&str, Scalar)], folder: &Path) -> Experiment {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = fs::read_to_string(scenarios.join(case.file)).unwrap();
    let [from, to] = case.quick;
    assert_eq!(text.matches(from).count(), 1, "{}: the quick run has changed", case.file);
    let copy = folder.join("copy.toml");
    fs::write(&copy, text.replace(from, to)).unwrap();
    let mut experiment = Experiment::from_file(&copy).unwrap();
    experiment.figures.clear();
    experiment.references.clear();
    experiment.claims.retain(|claim| case.claims.contains(&claim.id.as_str()));
    experiment.alternatives = vec![Alternative {
        name: "broken".to_owned(),
        why: String::new(),
        set: broken.iter().map(|(field, value)| ((*field).to_owned(), value.clone())).collect(),
        cases: Cases::new(),
        claims: Vec::new(),
        reading: false,
    }];
    experiment
}

/// All runs of the alternative, which has no others, and of the experiment those that its claims
/// look at.
fn needed(study: &Study) -> Vec<Job> {
    let grids = &study.points.grids;
    let points = collect_needs(&study.experiment.claims, grids).into_keys();
    let scenario = |(name, point): (String, usize)| {
        &grids.iter().find(|grid| grid.name == name).unwrap().points[point].scenario
    };
    let wanted: Vec<&Scenario> = points.map(scenario).map(|one| &**one).collect();
    let of_experiment =
        |job: &Job| grids.iter().flat_map(|g| &g.points).any(|p| p.scenario == job.scenario);
    let mut all = collect_jobs([study]);
    all.retain(|job| !of_experiment(job) || wanted.contains(&&*job.scenario));
    all
}
