//! The claims of a study against its results.

use schemars::JsonSchema;
use serde::Serialize;

use super::claim::{ClaimReport, judge_claim};
use super::deviation::{Deviation, find_deviations};
use super::paper::read_beside;
use super::points::{Points, Stored};
use super::reading::{ReadingReport, judge_by_readings, report_readings};
use super::study::{Study, concerns_claim};
use crate::evaluate::{Comparison, Evaluator, Verdict};
use crate::experiment::{Alternative, Claim, Paper};
use crate::store::{Store, StoreError, Wanted};

/// What came out of an experiment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExperimentReport {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// The first and the last seed of the main grid's runs.
    pub seeds: Option<(u64, u64)>,
    /// The profiles of the stacks that were run.
    pub profiles: Vec<String>,
    /// The paper, where it is one's.
    pub paper: Option<Paper>,
    /// Claims in the order of the file.
    pub claims: Vec<ClaimReport>,
    /// Other readings that are judged in full; their findings stand with each claim.
    pub readings: Vec<ReadingReport>,
    /// Reference data beside ours.
    pub deviations: Vec<Deviation>,
    /// What other readings change; empty when they were not run.
    pub sensitivity: Vec<SensitivityReport>,
}

/// What one other reading changes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SensitivityReport {
    /// The alternative.
    pub name: String,
    /// Why it is worth a look.
    pub why: String,
    /// How many seeds it had.
    pub seeds: usize,
    /// How many claims ran again.
    pub judged: usize,
    /// Verdicts that differ.
    pub flips: Vec<Flip>,
}

/// A verdict that an alternative changes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Flip {
    /// The claim.
    pub claim: String,
    /// As the experiment stands.
    pub from: Verdict,
    /// With the alternative.
    pub to: Verdict,
    /// What was measured then.
    pub measured: String,
}

/// Judges a study by what the store holds.
///
/// # Errors
/// When the store cannot be read.
pub fn judge_study(study: &Study, store: &Store) -> Result<(ExperimentReport, Stored), StoreError> {
    let stored = study.points.find_stored(store, Wanted::All)?;
    let evaluator = Evaluator::new(&stored);
    let readings: Vec<(&str, Stored)> = study
        .readings
        .iter()
        .map(|(reading, points)| {
            Ok((reading.name.as_str(), points.find_stored(store, Wanted::All)?))
        })
        .collect::<Result<_, StoreError>>()?;
    let claims = study.experiment.claims.iter();
    let claims: Vec<ClaimReport> =
        claims.map(|claim| claim_report(claim, &stored, &readings)).collect();
    let head = &study.experiment.head;
    let report = ExperimentReport {
        id: head.id.clone(),
        title: head.title.clone(),
        source: head.source.clone(),
        seeds: study.seeds(),
        profiles: study.profiles().iter().map(ToString::to_string).collect(),
        paper: study.experiment.paper.clone(),
        readings: report_readings(study, &claims),
        deviations: find_deviations(&study.experiment, &evaluator),
        sensitivity: judge_sensitivity(study, store)?,
        claims,
    };
    Ok((report, stored))
}

fn claim_report(claim: &Claim, results: &Stored, readings: &[(&str, Stored)]) -> ClaimReport {
    let finding = judge_claim(claim, results);
    let readings = judge_by_readings(claim, readings);
    let mut report = ClaimReport {
        id: claim.id.clone(),
        kind: claim.kind,
        title: claim.name().to_owned(),
        says: claim.says.clone(),
        paper: read_beside(claim, &Evaluator::new(results)),
        finding,
        readings,
        bound_changed: claim.bound_changed.clone(),
        explain: None,
        note: claim.note.clone(),
    };
    report.explain = claim.explain.clone().filter(|_| !report.holds_by_every_reading());
    report
}

/// Both sides have the seeds of the alternative: with fewer seeds alone a verdict may turn unclear.
fn judge_sensitivity(study: &Study, store: &Store) -> Result<Vec<SensitivityReport>, StoreError> {
    let report = |(alternative, points): &(Alternative, Points)| {
        let seeds = points.grids.iter().map(|grid| grid.seeds.len()).max().unwrap_or(0);
        let base = study.points.stored_first(seeds, store, Wanted::All)?;
        let stored = points.find_stored(store, Wanted::All)?;
        let claims = study.experiment.claims.iter();
        let concerned: Vec<&Claim> =
            claims.filter(|claim| concerns_claim(alternative, &claim.id)).collect();
        let flips = concerned.iter().filter_map(|claim| find_flip(claim, &base, &stored));
        Ok(SensitivityReport {
            name: alternative.name.clone(),
            why: alternative.why.clone(),
            seeds,
            judged: concerned.len(),
            flips: flips.collect(),
        })
    };
    study.alternatives.iter().map(report).collect()
}

fn find_flip(claim: &Claim, base: &Stored, alternative: &Stored) -> Option<Flip> {
    let (before, after) = (judge_claim(claim, base), judge_claim(claim, alternative));
    let measured = after.most_telling().map(Comparison::describe_outcome).unwrap_or_default();
    (before.verdict != after.verdict).then(|| Flip {
        claim: claim.id.clone(),
        from: before.verdict,
        to: after.verdict,
        measured,
    })
}
