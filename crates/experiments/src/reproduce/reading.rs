//! Readings of what a paper leaves open that are judged in full, beside the file's own.

use serde::Serialize;

use super::judge::{ClaimReport, judge_claim};
use super::study::{Stored, Study};
use crate::evaluate::{Finding, Verdict};
use crate::experiment::Claim;

/// Another reading, judged in full.
#[derive(Clone, Debug, Serialize)]
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

/// What was found of a claim by another reading.
#[derive(Clone, Debug, Serialize)]
pub struct ReadingFinding {
    /// The reading.
    pub reading: String,
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
}

impl ClaimReport {
    /// Whether it holds as the file stands and by each other reading that is judged in full.
    pub fn holds_by_every_reading(&self) -> bool {
        let others = self.readings.iter().map(|one| &one.finding);
        std::iter::once(&self.finding).chain(others).all(|one| one.verdict == Verdict::Holds)
    }

    /// What was found by the reading of this name; as the file stands where the experiment has no
    /// such reading.
    pub fn finding_by(&self, reading: &str) -> &Finding {
        let own = self.readings.iter().find(|one| one.reading == reading);
        own.map_or(&self.finding, |one| &one.finding)
    }
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
    let report = |(reading, points): &(crate::experiment::Alternative, super::study::Points)| {
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
