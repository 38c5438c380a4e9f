//! One page that needs nothing else.

mod chapter;
mod comparisons;
mod figures;
mod overview;
mod page;
mod parameters;
mod readings;
mod style;

use polypath_experiments::store::stack_version;

use self::overview::write_overview;
use self::page::{Page, escape_html};
use self::style::SCRIPT;
use crate::chapter::{Chapter, paper_name, papers_of};

pub use self::figures::{Captioned, FigurePage, render_figures};

/// The report of these experiments; `command` made it.
pub fn render_page(chapters: &[Chapter<'_>], command: &str) -> String {
    let mut page = Page::with_title("The papers, re-run");
    page.push_line(&format!(
        "<p class=\"lead\">Every experiment and claim, from the stack itself in a deterministic simulator. \
         Made by <code>{}</code>, stack version {}; the same command makes the same page.</p>",
        escape_html(command),
        stack_version()
    ));
    page.push_line(
        "<p>Intervals are 95 % (Student t over the seeds; differences and ratios by the delta method on runs with \
         common random numbers). A claim <span class=\"holds\">holds</span> or \
         <span class=\"does-not-hold\">does not hold</span> when the whole interval lies on one side of its bound, and \
         is <span class=\"unclear\">unclear</span> when it straddles it, there is one run only, nothing happened on either \
         side, or a figure is missing; the reason stands beside it. Effects in square \
         brackets say how far apart the compared figures are.</p>",
    );
    write_overview(&mut page, chapters);
    let mut last = "";
    for chapter in chapters {
        let name = paper_name(&chapter.report.id);
        if name != last {
            page.push_line(&format!("<h2 id=\"{0}\">{0}</h2>", escape_html(name)));
            let own = chapters.iter().map(|one| one.report);
            let own: Vec<_> = own.filter(|one| paper_name(&one.id) == name).cloned().collect();
            page.write_reading_counts(&own);
            last = name;
            let own = chapters.iter().map(|one| one.report);
            let own = own.filter(|report| paper_name(&report.id) == name);
            papers_of(own).into_iter().for_each(|paper| page.write_paper(paper));
        }
        page.write_chapter(chapter);
    }
    page.finish(SCRIPT)
}

#[cfg(test)]
mod tests {
    use polypath_experiments::evaluate::undecided_finding;
    use polypath_experiments::experiment::{ClaimKind, Experiment};
    use polypath_experiments::reproduce::{ClaimReport, ExperimentReport, Study};
    use polypath_scenario::Source;

    use super::*;

    #[test]
    fn the_page_needs_nothing_else_and_says_every_verdict_in_words() {
        let text = "[path.A]\nrate = '10Mbit/s'\ndelay = '10ms'\n[[flow]]\napp = 'saturated'\n\
                    [time]\nmeasure = '1s'";
        let experiment = Experiment::from_scenario(Source::new("S9-F1", text).unwrap());
        let study = Study::without_claims(experiment, 2).unwrap();
        let claim = ClaimReport {
            id: "S9-F1-c1".into(),
            kind: ClaimKind::Qualitative,
            title: "a under b".into(),
            says: "a < b".into(),
            paper: Vec::new(),
            finding: undecided_finding("nothing"),
            readings: Vec::new(),
            bound_changed: None,
            explain: None,
            note: None,
        };
        let report = ExperimentReport {
            id: "S9-F1".into(),
            title: "A test".into(),
            source: String::new(),
            seeds: None,
            profiles: Vec::new(),
            paper: None,
            claims: vec![claim],
            readings: Vec::new(),
            deviations: Vec::new(),
            sensitivity: Vec::new(),
        };
        let chapter = Chapter { study: &study, report: &report, drawings: &[], tables: &[] };
        let page = render_page(&[chapter], "polypath reproduce S9");
        for part in [
            "? unclear",
            "a under b",
            "No explanation given.",
            "not corrected",
            "a &lt; b",
            "path.A.rate",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("http") && !page.contains("src="));
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("name=\"viewport\""));
        assert_eq!(page.matches("<table").count(), page.matches("<div class=\"scroll\">").count());
        assert!(page.contains("href=\"#S9-F1-c1\"") && page.contains("id=\"S9-F1-c1\""));
    }

    #[test]
    fn readings_have_columns_of_their_own() {
        let text = "[path.A]\nrate = '10Mbit/s'\ndelay = '10ms'\n[[flow]]\napp = 'saturated'\n\
                    [time]\nmeasure = '1s'";
        let experiment = Experiment::from_scenario(Source::new("S9-F1", text).unwrap());
        let study = Study::without_claims(experiment, 2).unwrap();
        let report = crate::readings::tests::report_of_two_readings();
        let chapter = Chapter { study: &study, report: &report, drawings: &[], tables: &[] };
        let page = render_page(&[chapter], "polypath reproduce S9");
        for part in [
            "<th>in turn <div class=\"why\">the paper is silent; 2 seeds</div></th>",
            "other | figure",
            "in turn: <span class=\"holds\">",
            "1 by both.",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }
}
