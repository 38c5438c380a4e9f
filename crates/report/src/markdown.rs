//! Summaries for the repository: short, and the same text from every run that found the same.

use std::fmt::Write as _;

use polypath_experiments::evaluate::Comparison;
use polypath_experiments::experiment::Paper;
use polypath_experiments::reproduce::{ClaimReport, ExperimentReport, SensitivityReport};

use crate::chapter::{count_verdicts, describe_agreement, figures_of, paper_name, papers_of};
use crate::readings::{
    count_by_every_reading, describe_finding, describe_readings, describe_verdicts,
};

/// One file per paper and one over all of them: names and texts.
pub fn format_summaries(reports: &[ExperimentReport], command: &str) -> Vec<(String, String)> {
    let papers = || {
        reports.chunk_by(|a, b| paper_name(&a.id) == paper_name(&b.id)).filter_map(paper_reports)
    };
    let mut all = format!(
        "# The papers, re-run\n\nMade by `{command}`; the same command makes the same page.\n\n\
         | paper | claims | hold | do not hold | unclear | hold by every reading | reference points |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (name, own) in papers() {
        write_row(&mut all, &format!("[{name}]({name}.md)"), own);
    }
    write_row(&mut all, "all", reports);
    let mut files = vec![("README.md".to_owned(), all)];
    for (name, own) in papers() {
        let mut text = format!("# {name}, re-run\n\nMade by `{command}`.\n");
        papers_of(own).into_iter().for_each(|paper| write_paper(&mut text, paper));
        if let Some(counts) = describe_readings(own) {
            let _ = writeln!(text, "\n{counts}");
        }
        own.iter().for_each(|report| write_experiment(&mut text, report));
        files.push((format!("{name}.md"), text));
    }
    files
}

/// A paper's name and its experiments, which stand side by side.
fn paper_reports(own: &[ExperimentReport]) -> Option<(&str, &[ExperimentReport])> {
    own.first().map(|first| (paper_name(&first.id), own))
}

fn write_row(text: &mut String, name: &str, reports: &[ExperimentReport]) {
    let [holds, not, unclear] = count_verdicts(reports);
    let sum = holds + not + unclear;
    let deviations: Vec<_> = reports.iter().flat_map(|report| report.deviations.clone()).collect();
    let agreement = describe_agreement(&deviations).unwrap_or_default();
    let every = count_by_every_reading(reports).map(|n| n.to_string()).unwrap_or_default();
    // Writing to a String cannot fail.
    let _ =
        writeln!(text, "| {name} | {sum} | {holds} | {not} | {unclear} | {every} | {agreement} |");
}

fn write_paper(text: &mut String, paper: &Paper) {
    let _ = writeln!(
        text,
        "\n{}, *{}*.\n\n**Conclusion.** {}",
        paper.reference,
        paper.title,
        paper.conclusion.join(" ")
    );
}

fn write_experiment(text: &mut String, report: &ExperimentReport) {
    let _ = writeln!(text, "\n## {}: {}\n", report.id, report.title);
    if let Some((first, last)) = report.seeds {
        let _ = writeln!(text, "`polypath reproduce {}`, seeds {first} to {last}.\n", report.id);
    }
    if !report.claims.is_empty() {
        let names: String =
            report.readings.iter().map(|one| format!(" {} |", escape_cell(&one.name))).collect();
        let _ =
            writeln!(text, "| claim | says | kind | verdict | measured | bound |{names} paper |");
        let _ =
            writeln!(text, "|---|---|---|---|---|---|{}---|", "---|".repeat(report.readings.len()));
    }
    report.claims.iter().for_each(|one| write_claim(text, one));
    let open: Vec<_> =
        report.claims.iter().filter(|claim| !claim.holds_by_every_reading()).collect();
    if !open.is_empty() {
        text.push('\n');
    }
    for claim in open {
        let why = claim.explain.as_deref().unwrap_or("No explanation given.");
        let _ =
            writeln!(text, "- {} {}: {} *{}*", claim.id, describe_verdicts(claim), claim.says, why);
    }
    write_deviations(text, report);
    if !report.sensitivity.is_empty() {
        text.push_str("\n| another reading | seeds | verdicts that change |\n|---|---|---|\n");
    }
    report.sensitivity.iter().for_each(|one| write_sensitivity(text, one));
}

fn write_claim(text: &mut String, claim: &ClaimReport) {
    let told = claim.finding.most_telling();
    let at = told.map(|one| one.at.as_str()).filter(|at| !at.is_empty());
    let measured = told.map(Comparison::describe_outcome).unwrap_or_default();
    let measured = at.map_or(measured.clone(), |at| format!("{at}: {measured}"));
    let bound = told.map(|one| one.bound.as_str()).unwrap_or_default();
    let bound =
        if claim.bound_changed.is_some() { format!("{bound} (changed)") } else { bound.to_owned() };
    let others = claim.readings.iter();
    let others: String =
        others.map(|one| format!(" {} |", escape_cell(&describe_finding(&one.finding)))).collect();
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} |{others} {} |",
        claim.id,
        escape_cell(&claim.title),
        claim.kind.letter(),
        claim.finding.verdict,
        escape_cell(&measured),
        escape_cell(&bound),
        escape_cell(&figures_of(claim))
    );
}

/// The count, and the points that disagree.
fn write_deviations(text: &mut String, report: &ExperimentReport) {
    let Some(agreement) = describe_agreement(&report.deviations) else { return };
    let _ = writeln!(text, "\nReference data: {agreement}.");
    let against: Vec<_> =
        report.deviations.iter().filter(|one| one.ours.is_some() && !one.agrees).collect();
    if !against.is_empty() {
        text.push_str(
            "\n| point that disagrees | reference | ours | deviation |\n|---|---|---|---|\n",
        );
    }
    for one in against {
        let place = escape_cell(&one.describe_place());
        let _ = writeln!(text, "| {place} | {} |", one.format_values().join(" | "));
    }
}

fn write_sensitivity(text: &mut String, one: &SensitivityReport) {
    let flips: Vec<String> = one
        .flips
        .iter()
        .map(|flip| format!("{} {} instead of {}", flip.claim, flip.to, flip.from))
        .collect();
    let none = format!("none of {}", one.judged);
    let flips = if flips.is_empty() { none } else { flips.join("; ") };
    let _ = writeln!(text, "| {} | {} | {flips} |", escape_cell(&one.name), one.seeds);
}

fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use polypath_experiments::evaluate::undecided_finding;
    use polypath_experiments::experiment::ClaimKind;

    use super::*;

    #[test]
    fn a_claim_without_explanation_says_so() {
        let claim = ClaimReport {
            id: "S9-F1-c1".into(),
            kind: ClaimKind::Quantitative,
            title: "Up | down".into(),
            says: "Up | down.".into(),
            paper: Vec::new(),
            finding: undecided_finding("a | b"),
            readings: Vec::new(),
            bound_changed: None,
            explain: None,
            note: None,
        };
        let report = ExperimentReport {
            id: "S9-F1".into(),
            title: "A test".into(),
            source: String::new(),
            seeds: Some((1, 24)),
            profiles: Vec::new(),
            paper: None,
            claims: vec![claim],
            readings: Vec::new(),
            deviations: Vec::new(),
            sensitivity: Vec::new(),
        };
        let files = format_summaries(&[report], "polypath reproduce S9");
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["README.md", "S9.md"]);
        assert!(files[0].1.contains("| [S9](S9.md) | 1 | 0 | 0 | 1 |  |"), "{}", files[0].1);
        assert!(
            files[1].1.contains("| S9-F1-c1 | Up \\| down | Q | unclear | a \\| b |"),
            "{}",
            files[1].1
        );
        assert!(files[1].1.contains("*No explanation given.*"));
    }

    #[test]
    fn readings_stand_beside_the_own_and_are_counted() {
        let report = crate::readings::tests::report_of_two_readings();
        let files = format_summaries(&[report], "polypath reproduce S9");
        assert!(files[0].1.contains("| [S9](S9.md) | 2 | 1 | 1 | 0 | 1 |  |"), "{}", files[0].1);
        let page = &files[1].1;
        for part in [
            "1 hold as the files stand, 2 by the reading \"in turn\", 1 by both.",
            "| claim | says | kind | verdict | measured | bound | in turn | paper |\n|---|---|---|---|---|---|---|---|\n",
            "| does not hold | own figure |  | holds; other \\| figure |",
            "- S9-F1-c2 does not hold (in turn: holds): It rises. *SACKs lock.*",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
