//! Summary tables for the repository.

use std::fmt::Write as _;

use super::{paper, tally};
use crate::reproduce::ExperimentReport;
use crate::store::stack_version;

/// All verdicts, deviations and sensitivities as Markdown.
pub fn summary(reports: &[ExperimentReport], how: &str) -> String {
    let mut text = format!("# The papers, re-run\n\n{how} Stack version {}.\n\n", stack_version());
    text.push_str("| paper | claims | hold | do not hold | unclear |\n|---|---|---|---|---|\n");
    let mut papers: Vec<&str> = reports.iter().map(|report| paper(&report.id)).collect();
    papers.dedup();
    for name in &papers {
        let own = || reports.iter().filter(|report| paper(&report.id) == *name);
        row(&mut text, name, tally(own()));
    }
    row(&mut text, "all", tally(reports));
    for report in reports {
        experiment(&mut text, report);
    }
    text
}

fn row(text: &mut String, name: &str, [holds, not, unclear]: [usize; 3]) {
    let sum = holds + not + unclear;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "| {name} | {sum} | {holds} | {not} | {unclear} |");
}

fn experiment(text: &mut String, report: &ExperimentReport) {
    let _ = writeln!(text, "\n## {} {}\n", report.id, report.title);
    if !report.claims.is_empty() {
        text.push_str("| claim | | verdict | measured | effect |\n|---|---|---|---|---|\n");
    }
    for claim in &report.claims {
        let told = claim.finding.telling();
        let at = told.map(|one| one.at.as_str()).filter(|at| !at.is_empty());
        let measured = told.map(|one| one.measured.as_str()).unwrap_or_default();
        let bound = told.map(|one| one.bound.as_str()).filter(|bound| !bound.is_empty());
        let measured = [
            at.map(|at| format!("{at}: ")),
            Some(measured.to_owned()),
            bound.map(|b| format!("; {b}")),
        ];
        let measured: String = measured.into_iter().flatten().collect();
        let effect = told.and_then(|one| one.effect.as_deref()).unwrap_or_default();
        let mut says = claim.says.clone();
        for more in [&claim.bound_changed, &claim.explain].into_iter().flatten() {
            says.push_str(&format!(" *{more}*"));
        }
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {effect} |",
            claim.id,
            escaped(&says),
            claim.finding.verdict,
            escaped(&measured)
        );
    }
    deviations(text, report);
    for one in &report.sensitivity {
        let flips: Vec<String> = one
            .flips
            .iter()
            .map(|flip| format!("{} {} instead of {}", flip.claim, flip.to, flip.from))
            .collect();
        let flips =
            if flips.is_empty() { "no verdict changes".to_owned() } else { flips.join("; ") };
        let _ = writeln!(
            text,
            "\nWith {} ({} seeds, {} claims): {flips}.",
            one.name, one.seeds, one.judged
        );
    }
}

fn deviations(text: &mut String, report: &ExperimentReport) {
    if report.deviations.is_empty() {
        return;
    }
    let agreeing = report.deviations.iter().filter(|one| one.agrees).count();
    let all = report.deviations.len();
    let _ = writeln!(text, "\nReference data: {agreeing} of {all} points agree.\n");
    text.push_str("| point | reference | ours | deviation | |\n|---|---|---|---|---|\n");
    for one in &report.deviations {
        let at: Vec<&str> = one.at.values().map(String::as_str).collect();
        let ours = one.ours.map_or("-".into(), |(mean, half)| format!("{mean:.2} +- {half:.2}"));
        let by = one.deviation.map_or("-".into(), |by| format!("{:+.1} %", 100.0 * by));
        let agrees = if one.agrees { "" } else { "disagrees" };
        let (mean, half) = one.theirs;
        let _ = writeln!(
            text,
            "| {} | {mean:.2} +- {half:.2} | {ours} | {by} | {agrees} |",
            at.join(", ")
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
