//! Readings of what a paper leaves open that are judged in full, beside the file's own.

use schemars::JsonSchema;
use serde::Serialize;

use super::claim::{ClaimReport, ReadingFinding, judge_claim};
use super::points::{Points, Stored};
use super::study::Study;
use crate::evaluate::Verdict;
use crate::experiment::Claim;

/// Another reading, judged in full.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReadingReport {
    /// The alternative.
    pub name: String,
    /// Why it is worth a look.
    pub why: String,
    /// How many seeds it had.
    pub seeds: usize,
    /// How many claims hold by it.
    pub hold: usize,
}

/// A claim by each reading, in their order.
pub(super) fn judge_by_readings(claim: &Claim, readings: &[(&str, Stored)]) -> Vec<ReadingFinding> {
    let judge = |(name, stored): &(&str, Stored)| ReadingFinding {
        reading: (*name).to_owned(),
        finding: judge_claim(claim, stored),
    };
    readings.iter().map(judge).collect()
}

/// The readings of a study, and how many of its claims hold by each.
pub(super) fn report_readings(study: &Study, claims: &[ClaimReport]) -> Vec<ReadingReport> {
    let report = |(reading, points): &(crate::experiment::Alternative, Points)| {
        let holds =
            |claim: &&ClaimReport| claim.finding_by(&reading.name).verdict == Verdict::Holds;
        ReadingReport {
            name: reading.name.clone(),
            why: reading.why.clone(),
            seeds: points.grids.iter().map(|grid| grid.seeds.len()).max().unwrap_or(0),
            hold: claims.iter().filter(holds).count(),
        }
    };
    study.readings.iter().map(report).collect()
}
