//! Verdicts for the terminal.

use crate::reproduce::ExperimentReport;
use crate::table::{print, table};

/// The claims of an experiment and what was found.
pub fn claims(report: &ExperimentReport) -> String {
    let mut table = table(&["claim", "verdict", "effect", "measured"]);
    for claim in &report.claims {
        let told = claim.finding.telling();
        let measured = told.map(|one| {
            let at = if one.at.is_empty() { String::new() } else { format!("{}: ", one.at) };
            let bound =
                if one.bound.is_empty() { String::new() } else { format!(" ({})", one.bound) };
            format!("{at}{}{bound}", one.measured)
        });
        let effect = told.and_then(|one| one.effect.clone()).unwrap_or_default();
        let verdict = claim.finding.verdict.to_string();
        table.add_row(vec![claim.id.clone(), verdict, effect, measured.unwrap_or_default()]);
    }
    let agreeing = report.deviations.iter().filter(|one| one.agrees).count();
    let mut text = format!("{} {}\n{}", report.id, report.title, print(&table));
    if !report.deviations.is_empty() {
        text.push_str(&format!(
            "  reference data: {agreeing} of {} points agree\n",
            report.deviations.len()
        ));
    }
    for one in &report.sensitivity {
        let flips: Vec<String> =
            one.flips.iter().map(|flip| format!("{} {}", flip.claim, flip.to)).collect();
        let flips = if flips.is_empty() { "nothing changes".to_owned() } else { flips.join(", ") };
        text.push_str(&format!("  with {}: {flips}\n", one.name));
    }
    text
}
