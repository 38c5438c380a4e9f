//! One page that needs nothing else.

mod chapter;
mod overview;
mod page;
mod parameters;
mod style;

use polypath_experiments::store::stack_version;

use self::overview::overview;
use self::page::{Page, escape};
use self::style::CSS;
use crate::chapter::{Chapter, paper};

/// The report of these experiments; `command` made it.
pub fn page(chapters: &[Chapter<'_>], command: &str) -> String {
    let mut page = Page::default();
    page.line("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.line(&format!("<title>The papers, re-run</title><style>{CSS}</style></head><body>"));
    page.line("<h1>The papers, re-run</h1>");
    page.line(&format!(
        "<p class=\"lead\">Every experiment and claim, from the stack itself in a deterministic simulator. \
         Made by <code>{}</code>, stack version {}; the same command makes the same page.</p>",
        escape(command),
        stack_version()
    ));
    page.line(
        "<p>Intervals are 95 % (Student t over the seeds; differences and ratios by the delta method on runs with \
         common random numbers). A claim <span class=\"holds\">holds</span> or \
         <span class=\"does-not-hold\">does not hold</span> when the whole interval lies on one side of its bound, and \
         is <span class=\"unclear\">unclear</span> when it straddles it or a figure is missing. Effects in square \
         brackets say how far apart the compared figures are.</p>",
    );
    overview(&mut page, chapters);
    let mut last = "";
    for chapter in chapters {
        let name = paper(&chapter.report.id);
        if name != last {
            page.line(&format!("<h2 id=\"{0}\">{0}</h2>", escape(name)));
            last = name;
        }
        page.chapter(chapter);
    }
    page.line("</body></html>");
    page.text
}

#[cfg(test)]
mod tests {
    use polypath_experiments::evaluate::undecided;
    use polypath_experiments::experiment::{ClaimKind, Experiment};
    use polypath_experiments::reproduce::{ClaimReport, ExperimentReport, Study};
    use polypath_scenario::Source;

    use super::*;

    #[test]
    fn the_page_needs_nothing_else_and_says_every_verdict_in_words() {
        let text = "[path.A]\nrate = '10Mbit/s'\ndelay = '10ms'\n[[flow]]\napp = 'saturated'\n\
                    [time]\nmeasure = '1s'";
        let experiment = Experiment::bare(Source::new("S9-F1", text).unwrap());
        let study = Study::plain(experiment, 2).unwrap();
        let claim = ClaimReport {
            id: "S9-F1-c1".into(),
            kind: ClaimKind::Qualitative,
            says: "a < b".into(),
            finding: undecided("nothing"),
            bound_changed: None,
            explain: None,
            note: None,
        };
        let report = ExperimentReport {
            id: "S9-F1".into(),
            title: "A test".into(),
            source: String::new(),
            claims: vec![claim],
            deviations: Vec::new(),
            sensitivity: Vec::new(),
        };
        let chapter = Chapter { study: &study, report: &report, drawings: &[], tables: &[] };
        let page = page(&[chapter], "polypath reproduce S9");
        for part in
            ["? unclear", "No explanation given.", "not corrected", "a &lt; b", "path.A.rate"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("http") && !page.contains("src=") && !page.contains("<script"));
        assert!(page.contains("href=\"#S9-F1-c1\"") && page.contains("id=\"S9-F1-c1\""));
    }
}
