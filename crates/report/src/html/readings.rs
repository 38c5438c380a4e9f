//! Readings that are judged in full, on the page.

use polypath_experiments::reproduce::{
    ClaimReport, ExperimentReport, ReadingFinding, ReadingReport,
};

use super::comparisons::format_comparisons;
use super::page::{Page, escape_html, verdict_badge};
use crate::readings::describe_readings;

impl Page {
    /// How many claims hold by which reading, before the experiments of a paper.
    pub(super) fn write_reading_counts(&mut self, reports: &[ExperimentReport]) {
        if let Some(text) = describe_readings(reports) {
            self.push_line(&format!("<p>{}</p>", escape_html(&text)));
        }
    }
}

/// Columns of the table of claims, one for each other reading.
pub(super) fn reading_heads(readings: &[ReadingReport]) -> String {
    let head = |one: &ReadingReport| {
        let (name, why) = (escape_html(&one.name), escape_html(&one.why));
        format!("<th>{name} <div class=\"why\">{why}; {} seeds</div></th>", one.seeds)
    };
    readings.iter().map(head).collect()
}

/// Their cells in the row of a claim.
pub(super) fn reading_cells(claim: &ClaimReport) -> String {
    let cell = |one: &ReadingFinding| {
        let verdict = verdict_badge(one.finding.verdict);
        format!("<td>{verdict}{}</td>", format_comparisons(&one.finding))
    };
    claim.readings.iter().map(cell).collect()
}

/// The verdict as the file stands, and those of other readings that differ from it.
pub(super) fn verdict_badges(claim: &ClaimReport) -> String {
    let own = claim.finding.verdict;
    let others = claim.readings.iter().filter(|one| one.finding.verdict != own);
    let other = |one: &ReadingFinding| {
        format!("<div>{}: {}</div>", escape_html(&one.reading), verdict_badge(one.finding.verdict))
    };
    format!("{}{}", verdict_badge(own), others.map(other).collect::<String>())
}
