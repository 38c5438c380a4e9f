//! Reports: for the terminal, as Markdown, as one HTML page, and as CSV.

mod csv_table;
mod html;
mod markdown;
mod run_table;
mod style;
mod text;

pub use csv_table::write_runs;
pub use html::page;
pub use markdown::summary;
pub use run_table::RunTable;
pub use text::claims;

use crate::evaluate::Verdict;
use crate::figure::Drawing;
use crate::reproduce::{ExperimentReport, Study};

/// An experiment with everything that a report shows.
#[derive(Debug)]
pub struct Chapter<'a> {
    /// What was run.
    pub study: &'a Study,
    /// What came out.
    pub report: &'a ExperimentReport,
    /// Its diagrams.
    pub drawings: Vec<Drawing>,
}

/// Numbers of verdicts: holds, does not hold, unclear.
pub fn tally<'a>(reports: impl IntoIterator<Item = &'a ExperimentReport>) -> [usize; 3] {
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
pub fn paper(id: &str) -> &str {
    id.split_once('-').map_or(id, |(paper, _)| paper)
}
