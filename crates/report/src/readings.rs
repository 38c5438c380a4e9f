//! What other readings of a paper say that are judged in full, beside the file's own.

use polypath_experiments::evaluate::{Finding, Verdict};
use polypath_experiments::reproduce::{ClaimReport, ExperimentReport};

/// The readings of these experiments, each once, in the order of their first use.
pub(crate) fn reading_names<'a>(
    reports: impl IntoIterator<Item = &'a ExperimentReport>,
) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for reading in reports.into_iter().flat_map(|report| &report.readings) {
        if !names.contains(&reading.name.as_str()) {
            names.push(&reading.name);
        }
    }
    names
}

/// How many claims hold as the files stand, by each other reading and by all of them; `None` where
/// there is no other reading. Experiments without a reading count as they stand.
pub(crate) fn describe_readings(reports: &[ExperimentReport]) -> Option<String> {
    let names = reading_names(reports);
    let claims = || reports.iter().flat_map(|report| &report.claims);
    let holding = |by: &dyn Fn(&ClaimReport) -> bool| claims().filter(|claim| by(claim)).count();
    let own = holding(&|claim| claim.finding.verdict == Verdict::Holds);
    let each: Vec<String> = names
        .iter()
        .map(|name| {
            let hold = holding(&|claim| claim.finding_by(name).verdict == Verdict::Holds);
            format!("{hold} by the reading \"{name}\"")
        })
        .collect();
    let every = count_by_every_reading(reports)?;
    let all = if names.len() == 1 { "both" } else { "all of them" };
    Some(format!(
        "Of {} claims {own} hold as the files stand, {}, {every} by {all}.",
        claims().count(),
        each.join(", ")
    ))
}

/// How many claims hold by every reading; `None` where there is only one.
pub(crate) fn count_by_every_reading(reports: &[ExperimentReport]) -> Option<usize> {
    let several = reports.iter().any(|report| !report.readings.is_empty());
    let claims = reports.iter().flat_map(|report| &report.claims);
    several.then(|| claims.filter(|claim| claim.holds_by_every_reading()).count())
}

/// A verdict and the figures that say most, in one cell.
pub(crate) fn describe_finding(finding: &Finding) -> String {
    let told = finding.most_telling().map(|one| match one.at.as_str() {
        "" => format!("; {}", one.describe_outcome()),
        at => format!("; {at}: {}", one.describe_outcome()),
    });
    format!("{}{}", finding.verdict, told.unwrap_or_default())
}

/// The verdict as the file stands, and those of other readings that differ from it.
pub(crate) fn describe_verdicts(claim: &ClaimReport) -> String {
    let own = claim.finding.verdict;
    let others = claim.readings.iter().filter(|one| one.finding.verdict != own);
    let others: Vec<String> =
        others.map(|one| format!("{}: {}", one.reading, one.finding.verdict)).collect();
    if others.is_empty() { own.to_string() } else { format!("{own} ({})", others.join("; ")) }
}

#[cfg(test)]
pub(crate) mod tests {
    use polypath_experiments::evaluate::undecided_finding;
    use polypath_experiments::experiment::ClaimKind;
    use polypath_experiments::reproduce::{ReadingFinding, ReadingReport};

    use super::*;

    fn finding(verdict: Verdict, measured: &str) -> Finding {
        let mut finding = undecided_finding(measured);
        finding.verdict = verdict;
        finding.comparisons.iter_mut().for_each(|one| one.verdict = verdict);
        finding
    }

    /// Two claims: one that holds by both readings, one that only the other reading lets hold.
    pub(crate) fn report_of_two_readings() -> ExperimentReport {
        let claim = |id: &str, own: Verdict| ClaimReport {
            id: id.into(),
            kind: ClaimKind::Qualitative,
            title: "It rises".into(),
            paper: Vec::new(),
            says: "It rises.".into(),
            finding: finding(own, "own figure"),
            readings: vec![ReadingFinding {
                reading: "in turn".into(),
                finding: finding(Verdict::Holds, "other | figure"),
            }],
            bound_changed: None,
            explain: Some("SACKs lock.".into()).filter(|_| own != Verdict::Holds),
            note: None,
        };
        ExperimentReport {
            id: "S9-F1".into(),
            title: "A test".into(),
            source: String::new(),
            seeds: None,
            profiles: Vec::new(),
            paper: None,
            claims: vec![
                claim("S9-F1-c1", Verdict::Holds),
                claim("S9-F1-c2", Verdict::DoesNotHold),
            ],
            readings: vec![ReadingReport {
                name: "in turn".into(),
                why: "the paper is silent".into(),
                seeds: 2,
                hold: 2,
            }],
            deviations: Vec::new(),
            sensitivity: Vec::new(),
        }
    }

    #[test]
    fn claims_are_counted_by_each_reading_and_by_all() {
        let report = report_of_two_readings();
        let text = describe_readings(std::slice::from_ref(&report)).unwrap();
        assert_eq!(
            text,
            "Of 2 claims 1 hold as the files stand, 2 by the reading \"in turn\", 1 by both."
        );
        assert_eq!(describe_verdicts(&report.claims[0]), "holds");
        assert_eq!(describe_verdicts(&report.claims[1]), "does not hold (in turn: holds)");
        let alone = ExperimentReport { readings: Vec::new(), ..report };
        assert_eq!(describe_readings(&[alone]), None);
    }
}
