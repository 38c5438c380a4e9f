//! Where `fast` is known to fall short: `scenarios/regressions`. What is expected to fail must
//! fail, so that a cure is noticed; what was cured must hold, so that it stays cured.

use std::collections::BTreeMap;
use std::path::Path;

use polypath_experiments::evaluate::{Comparison, Verdict};
use polypath_experiments::experiment::{Experiment, find_files};
use polypath_experiments::reproduce::{
    ClaimReport, Options, Study, collect_jobs, execute_jobs, judge_study, prepare_study,
};
use polypath_experiments::store::Store;

/// Claims that do not hold yet. One that begins to hold moves to [`HOLDS`].
const EXPECTED_FAILURES: &[&str] = &[
    "R-C-four-streams",
    "R-C-two-streams",
    "R-E-jitter",
    "R-G-collapse",
    "R-G-flap",
    "R-M-one-stream-small-buffer",
    "R-P-outage",
];

/// Claims that failed once and were cured.
const HOLDS: &[&str] = &[
    "R-A-dip",
    "R-A-one-dip",
    "R-B-access-lines",
    "R-B-sack-volume",
    "R-B-three-paths",
    "R-C-four-streams-delay",
    "R-C-two-streams-delay",
    "R-D-delay-in-turn",
    "R-D-streams-in-turn",
    "R-F-torn-messages",
    "R-H-short-files",
    "R-I-slow-near-path",
    "R-I-small-buffer-on-a-lan",
    "R-K-below-one-path",
    "R-K-long-wide-path",
    "R-L-foreign-receiver",
    "R-N-small-buffer-unequal-rates",
    "R-O-small-messages",
    "R-Q-after-an-outage",
];

/// Every regression experiment of the project.
fn read_studies() -> Vec<Study> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/regressions");
    find_files(&folder).unwrap().iter().map(|file| read_study(file)).collect()
}

fn read_study(file: &Path) -> Study {
    let experiment = Experiment::from_file(file).unwrap_or_else(|error| panic!("{error}"));
    prepare_study(experiment, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs all of them and judges their claims, by id.
fn judge_claims(studies: &[Study]) -> BTreeMap<String, ClaimReport> {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    execute_jobs(&collect_jobs(studies), &mut store, &|_| {}).unwrap();
    let claims = studies.iter().flat_map(|study| judge_study(study, &store).unwrap().0.claims);
    claims.map(|claim| (claim.id.clone(), claim)).collect()
}

/// What is wrong with a claim's place in the lists, in one line; `None`: it is where it belongs.
fn find_fault(claim: &ClaimReport) -> Option<String> {
    let id = claim.id.as_str();
    let listed = |list: &[&str]| list.contains(&id);
    let measured =
        claim.finding.most_telling().map(Comparison::describe_outcome).unwrap_or_default();
    let holds = claim.finding.verdict == Verdict::Holds;
    match (listed(EXPECTED_FAILURES), listed(HOLDS)) {
        (true, false) if holds => {
            Some(format!("{id} turned: {measured}; move it from EXPECTED_FAILURES to HOLDS"))
        }
        (false, true) if !holds => {
            Some(format!("{id} held, and now {}: {measured}", claim.finding.verdict))
        }
        (true, false) | (false, true) => None,
        _ => Some(format!("{id} must be in one of EXPECTED_FAILURES and HOLDS")),
    }
}

#[test]
fn known_failures_fail_and_cured_ones_stay_cured() {
    let claims = judge_claims(&read_studies());
    let mut faults: Vec<String> = claims.values().filter_map(find_fault).collect();
    let listed = EXPECTED_FAILURES.iter().chain(HOLDS);
    let gone = listed.filter(|id| !claims.contains_key(**id));
    faults.extend(gone.map(|id| format!("{id} is listed, and no file claims it")));
    assert!(faults.is_empty(), "scenarios/regressions:\n{}", faults.join("\n"));
}
