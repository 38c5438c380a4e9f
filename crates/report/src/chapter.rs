//! Experiments as a report shows them, and how many of their claims hold.

use polypath_experiments::evaluate::Verdict;
use polypath_experiments::experiment::Paper;
use polypath_experiments::reproduce::{ClaimReport, Deviation, ExperimentReport, Study};

use crate::figure::{Drawing, Tabulated};

/// An experiment with everything that a report shows.
#[derive(Debug)]
pub struct Chapter<'a> {
    /// What was run.
    pub study: &'a Study,
    /// What came out.
    pub report: &'a ExperimentReport,
    /// Its diagrams.
    pub drawings: &'a [Drawing],
    /// Its tables.
    pub tables: &'a [Tabulated],
}

/// Numbers of verdicts: holds, does not hold, unclear.
pub fn count_verdicts<'a>(reports: impl IntoIterator<Item = &'a ExperimentReport>) -> [usize; 3] {
    let mut tally = [0; 3];
    for claim in reports.into_iter().flat_map(|report| &report.claims) {
        let at = match claim.finding.verdict {
            Verdict::Holds => 0,
            Verdict::DoesNotHold => 1,
            Verdict::Unclear => 2,
        };
        tally[at] += 1;
    }
    tally
}

/// The paper of an experiment: what stands before the dash of its id.
pub fn paper_name(id: &str) -> &str {
    id.split_once('-').map_or(id, |(paper, _)| paper)
}

/// The papers of these experiments, each once.
pub(crate) fn papers_of<'a>(
    reports: impl IntoIterator<Item = &'a ExperimentReport>,
) -> Vec<&'a Paper> {
    let mut papers: Vec<&Paper> = Vec::new();
    for paper in reports.into_iter().filter_map(|report| report.paper.as_ref()) {
        if !papers.contains(&paper) {
            papers.push(paper);
        }
    }
    papers
}

/// The figures of the paper that belong to a claim, in a cell of a table.
pub(crate) fn figures_of(claim: &ClaimReport) -> String {
    let figures: Vec<String> = claim.paper.iter().map(|one| one.describe_figure()).collect();
    figures.join("; ")
}

/// How many points of the reference data agree, of those that were run. `None`: there are no such
/// data.
pub(crate) fn describe_agreement(deviations: &[Deviation]) -> Option<String> {
    let agreeing = deviations.iter().filter(|one| one.agrees).count();
    let run = deviations.iter().filter(|one| one.ours.is_some()).count();
    let all = deviations.len();
    let share = if run > 0 { 100.0 * agreeing as f64 / run as f64 } else { 0.0 };
    let left_out = if run < all { format!(", {} not run", all - run) } else { String::new() };
    (all > 0).then(|| format!("{agreeing} of {run} points agree ({share:.1} %){left_out}"))
}
