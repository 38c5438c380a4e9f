//! What stands before the experiments: contents, what does not hold, what other readings change,
//! how sure it all is.

use polypath_experiments::evaluate::Verdict;

use super::page::{Page, agreement_of, escape_html, verdict_badge, verdict_class};
use super::readings::verdict_badges;
use crate::chapter::{Chapter, count_verdicts, paper_name};

/// Everything before the first paper.
pub(super) fn write_overview(page: &mut Page, chapters: &[Chapter<'_>]) {
    write_contents(page, chapters);
    write_open_claims(page, chapters);
    write_readings(page, chapters);
    write_doubts(page, chapters);
}

fn write_contents(page: &mut Page, chapters: &[Chapter<'_>]) {
    page.push_line("<h2 id=\"contents\">Contents and verdicts</h2>");
    page.push_line(
        "<table><tr><th>experiment</th><th></th><th class=\"number\">claims</th>\
         <th class=\"number\">hold</th><th class=\"number\">do not hold</th>\
         <th class=\"number\">unclear</th><th>points of the original simulator</th></tr>",
    );
    let mut last = "";
    for chapter in chapters {
        let name = paper_name(&chapter.report.id);
        if name != last {
            let own: Vec<_> =
                chapters.iter().filter(|c| paper_name(&c.report.id) == name).collect();
            let head = format!("<td><a href=\"#{0}\">{0}</a></td><td></td>", escape_html(name));
            write_verdict_row(
                page,
                "paper",
                &head,
                count_verdicts(own.iter().map(|c| c.report)),
                "",
            );
            last = name;
        }
        let (id, title) = (escape_html(&chapter.report.id), escape_html(&chapter.report.title));
        let head = format!("<td><a href=\"#{id}\">{id}</a></td><td>{title}</td>");
        let agreement = agreement_of(&chapter.report.deviations);
        write_verdict_row(page, "", &head, count_verdicts([chapter.report]), &agreement);
    }
    let sum = count_verdicts(chapters.iter().map(|chapter| chapter.report));
    write_verdict_row(page, "all", "<td>all</td><td></td>", sum, "");
    page.push_line("</table>");
}

fn write_verdict_row(
    page: &mut Page,
    class: &str,
    head: &str,
    [holds, not, unclear]: [usize; 3],
    last: &str,
) {
    let number = |n: usize| match n {
        0 => "<td class=\"number\"></td>".to_owned(),
        n => format!("<td class=\"number\">{n}</td>"),
    };
    let numbers = [holds + not + unclear, holds, not, unclear].map(number).concat();
    page.push_line(&format!("<tr class=\"{class}\">{head}{numbers}<td>{last}</td></tr>"));
}

fn write_open_claims(page: &mut Page, chapters: &[Chapter<'_>]) {
    let claims = chapters.iter().flat_map(|chapter| &chapter.report.claims);
    let open: Vec<_> = claims.filter(|claim| !claim.holds_by_every_reading()).collect();
    if open.is_empty() {
        return;
    }
    page.push_line("<h2 id=\"open\">What does not hold, and what is unclear</h2>");
    page.push_line(
        "<table class=\"prose\"><tr><th>claim</th><th>verdict</th><th>the paper says</th>\
         <th>explanation</th></tr>",
    );
    for claim in open {
        let why = claim.explain.as_deref().unwrap_or("No explanation given.");
        let id = escape_html(&claim.id);
        page.push_line(&format!(
            "<tr><td class=\"id\"><a href=\"#{id}\">{id}</a></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            verdict_badges(claim),
            escape_html(&claim.title),
            escape_html(why)
        ));
    }
    page.push_line("</table>");
}

fn write_readings(page: &mut Page, chapters: &[Chapter<'_>]) {
    let run: usize = chapters.iter().map(|chapter| chapter.report.sensitivity.len()).sum();
    if run == 0 {
        return;
    }
    page.push_line("<h2 id=\"readings\">Which other readings change verdicts</h2>");
    page.push_line(&format!(
        "<p>Where a paper is silent, {run} alternatives were run beside the defaults. These change verdicts; \
         both sides use the same seeds, so that none changes by having fewer.</p>"
    ));
    page.push_line("<table><tr><th>experiment</th><th>reading</th><th>claim</th><th>as it stands</th><th>with it</th></tr>");
    for chapter in chapters {
        let id = escape_html(&chapter.report.id);
        for one in &chapter.report.sensitivity {
            for flip in &one.flips {
                page.push_line(&format!(
                    "<tr><td class=\"id\"><a href=\"#{id}\">{id}</a></td><td>{}</td><td><a href=\"#{claim}\">{claim}</a></td><td>{}</td><td>{}</td></tr>",
                    escape_html(&one.name),
                    verdict_badge(flip.from),
                    verdict_badge(flip.to),
                    claim = escape_html(&flip.claim),
                ));
            }
        }
    }
    page.push_line("</table>");
}

/// Verdicts are not corrected for their number; says what that means.
fn write_doubts(page: &mut Page, chapters: &[Chapter<'_>]) {
    let claims = || chapters.iter().flat_map(|chapter| &chapter.report.claims);
    let decided = claims().filter(|claim| claim.finding.verdict != Verdict::Unclear).count();
    let comparisons: usize = claims().map(|claim| claim.finding.comparisons.len()).sum();
    let wrong = |count: usize| (0.025 * count as f64).ceil();
    page.push_line("<h2 id=\"doubts\">How many of these verdicts may be wrong</h2>");
    page.push_line(&format!(
        "<p class=\"warn\">The {} claims are not corrected for multiple comparisons. A 95 % interval lies wholly on \
         the wrong side of a bound with a probability of at most 2.5 %, and it comes near that only where the true value \
         is at the bound itself. Of {decided} decided verdicts that rest on one comparison each, up to about {} may so be \
         false; far from their bounds, where most lie, far fewer. The claims make {comparisons} comparisons, of \
         which up to about {} may be decided falsely; a claim that asks for many at once therefore errs towards \
         <span class=\"{}\">does not hold</span>, and one that asks for some of many towards <span class=\"{}\">holds</span>. \
         Runs share their random numbers, so neighbouring claims err together.</p>",
        claims().count(),
        wrong(decided),
        wrong(comparisons),
        verdict_class(Verdict::DoesNotHold),
        verdict_class(Verdict::Holds),
    ));
}
