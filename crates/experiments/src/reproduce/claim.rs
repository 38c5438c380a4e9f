//! A claim and what was found, by the file's own reading and by others.

use schemars::JsonSchema;
use serde::Serialize;

use super::paper::PaperFigureReport;
use crate::evaluate::{Evaluator, Finding, Results, Verdict, evaluate_test, undecided_finding};
use crate::experiment::{Claim, ClaimKind};

/// A claim and what was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClaimReport {
    /// Its id.
    pub id: String,
    /// Quantitative or qualitative.
    pub kind: ClaimKind,
    /// Its name in tables.
    pub title: String,
    /// The statement.
    pub says: String,
    /// The paper's figures beside ours.
    pub paper: Vec<PaperFigureReport>,
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
    /// What was found by the other readings that are judged in full, in the experiment's order.
    pub readings: Vec<ReadingFinding>,
    /// Why the bound differs from the first analysis.
    pub bound_changed: Option<String>,
    /// Why it does not hold; only when it does not, by whichever reading.
    pub explain: Option<String>,
    /// Shown always.
    pub note: Option<String>,
}

/// What was found of a claim by another reading.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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

pub(super) fn judge_claim(claim: &Claim, results: &dyn Results) -> Finding {
    let found = evaluate_test(&Evaluator::new(results), &claim.test);
    // A check went before; what is left are points that this way of running leaves out.
    found.unwrap_or_else(|why| undecided_finding(why.text()))
}
