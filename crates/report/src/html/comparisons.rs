//! What a claim compares, and what came of it.

use polypath_experiments::evaluate::{Comparison, Finding, Verdict};

use super::page::{escape_html, format_measured, verdict_badge};

/// Comparisons that a claim shows at once; the rest can be unfolded.
const SHOWN: usize = 3;

pub(super) fn format_comparisons(finding: &Finding) -> String {
    let one = |one: &Comparison| {
        let at =
            if one.at.is_empty() { String::new() } else { format!("{}: ", escape_html(&one.at)) };
        let effect =
            one.effect.as_ref().map_or(String::new(), |e| format!(" [{}]", format_measured(e)));
        let bound = if one.bound.is_empty() {
            String::new()
        } else {
            format!("; {}", format_measured(&one.bound))
        };
        format!(
            "<div>{at}{}<span class=\"soft\">{bound}</span>{effect} {}</div>",
            format_measured(&one.describe_outcome()),
            verdict_badge(one.verdict)
        )
    };
    let all = &finding.comparisons;
    if all.len() <= SHOWN {
        return all.iter().map(one).collect();
    }
    let telling = finding.most_telling().map(one).unwrap_or_default();
    let count = |verdict| all.iter().filter(|one| one.verdict == verdict).count();
    format!(
        "{telling}<details><summary>{} of {} comparisons hold</summary>{}</details>",
        count(Verdict::Holds),
        all.len(),
        all.iter().map(one).collect::<String>()
    )
}
