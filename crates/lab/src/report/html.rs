//! One page that needs nothing else.

use std::fmt::Write as _;

use super::style::CSS;
use super::{Chapter, paper, tally};
use crate::evaluate::{Comparison, Verdict};
use crate::reproduce::{ClaimReport, Deviation, SensitivityReport};
use crate::store::stack_version;

/// Comparisons that a claim shows at once; the rest can be unfolded.
const SHOWN: usize = 3;

/// The report of these experiments; `command` made it.
pub fn page(chapters: &[Chapter<'_>], command: &str) -> String {
    let mut page = Page { text: String::new() };
    page.line("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.line(&format!("<title>The papers, re-run</title><style>{CSS}</style></head><body>"));
    page.line("<h1>The papers, re-run</h1>");
    page.line(&format!(
        "<p class=\"lead\">Every experiment and claim, from the stack itself in a deterministic simulator. \
         Made by <code>{}</code>, stack version {}.</p>",
        escape(command),
        stack_version()
    ));
    page.line(
        "<p>Intervals are 95 % (Student t over the seeds; ratios by the delta method on runs with common random \
         numbers). A claim <i>holds</i> or <i>does not hold</i> when the whole interval lies on one side of its \
         bound, and is <i>unclear</i> when it straddles it or a figure is missing.</p>",
    );
    page.overview(chapters);
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

struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{text}");
    }

    fn overview(&mut self, chapters: &[Chapter<'_>]) {
        self.line("<table><tr><th>experiment</th><th></th><th>holds</th><th>does not hold</th><th>unclear</th><th>reference points that agree</th></tr>");
        for chapter in chapters {
            let report = chapter.report;
            let deviations = &report.deviations;
            let agreeing = deviations.iter().filter(|one| one.agrees).count();
            let agreeing = match deviations.len() {
                0 => String::new(),
                all => format!("{agreeing} of {all}"),
            };
            let id = escape(&report.id);
            let head = format!("<a href=\"#{id}\">{id}</a></td><td>{}", escape(&report.title));
            self.tally(&head, tally([report]), &agreeing);
        }
        self.tally("all</td><td>", tally(chapters.iter().map(|chapter| chapter.report)), "");
        self.line("</table>");
    }

    fn tally(&mut self, head: &str, [holds, not, unclear]: [usize; 3], last: &str) {
        let numbers = [holds, not, unclear].map(|n| format!("<td class=\"number\">{n}</td>"));
        let numbers = numbers.concat();
        self.line(&format!("<tr><td>{head}</td>{numbers}<td>{last}</td></tr>"));
    }

    fn chapter(&mut self, chapter: &Chapter<'_>) {
        let head = &chapter.study.experiment.head;
        let id = escape(&head.id);
        self.line(&format!("<section id=\"{id}\"><h3>{id}: {}</h3>", escape(&head.title)));
        self.line(&format!(
            "<p>{} <span class=\"soft\">({})</span></p>",
            escape(&head.question),
            escape(&head.source)
        ));
        for drawing in &chapter.drawings {
            for (heading, svg) in &drawing.panels {
                let caption = match heading.as_str() {
                    "" => escape(&drawing.title),
                    heading => format!("{}: {}", escape(&drawing.title), escape(heading)),
                };
                self.line(&format!("<figure>{svg}<figcaption>{caption}</figcaption></figure>"));
            }
        }
        self.claims(&chapter.report.claims);
        self.deviations(&chapter.report.deviations);
        self.sensitivity(&chapter.report.sensitivity);
        self.list("Assumptions of ours", &head.assumptions);
        self.list("Notes", &head.notes);
        self.parameters(chapter);
        self.line("</section>");
    }

    fn claims(&mut self, claims: &[ClaimReport]) {
        if claims.is_empty() {
            return;
        }
        self.line("<table><tr><th>claim</th><th>the paper says</th><th>verdict</th><th>measured</th></tr>");
        for claim in claims {
            let mut says = escape(&claim.says);
            let more = [
                ("Bound changed: ", &claim.bound_changed),
                ("", &claim.explain),
                ("", &claim.note),
            ];
            for (lead, text) in more {
                if let Some(text) = text {
                    says.push_str(&format!("<div class=\"why\">{lead}{}</div>", escape(text)));
                }
            }
            let class = class(claim.finding.verdict);
            let verdict = claim.finding.verdict;
            let measured = comparisons(claim);
            let id = escape(&claim.id);
            self.line(&format!(
                "<tr><td id=\"{id}\"><b>{id}</b></td><td>{says}</td><td class=\"{class}\">{verdict}</td><td>{measured}</td></tr>"
            ));
        }
        self.line("</table>");
    }

    fn deviations(&mut self, deviations: &[Deviation]) {
        if deviations.is_empty() {
            return;
        }
        let agreeing = deviations.iter().filter(|one| one.agrees).count();
        self.line(&format!(
            "<details><summary>Reference data: {agreeing} of {} points agree (within 15 %, or overlapping intervals)</summary>",
            deviations.len()
        ));
        self.line("<table><tr><th>point</th><th>reference</th><th>ours</th><th>deviation</th><th></th></tr>");
        for one in deviations {
            let at: Vec<String> =
                one.at.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
            let value = |(mean, half): (f64, f64)| format!("{mean:.2} ± {half:.2}");
            let ours = one.ours.map_or("-".into(), value);
            let by = one.deviation.map_or("-".into(), |by| format!("{:+.1} %", 100.0 * by));
            let verdict = if one.agrees { "" } else { "disagrees" };
            self.line(&format!(
                "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{ours}</td><td class=\"number\">{by}</td><td class=\"does-not-hold\">{verdict}</td></tr>",
                escape(&at.join(", ")),
                value(one.theirs)
            ));
        }
        self.line("</table></details>");
    }

    fn sensitivity(&mut self, all: &[SensitivityReport]) {
        if all.is_empty() {
            return;
        }
        self.line("<table><tr><th>another reading</th><th>verdicts that change</th></tr>");
        for one in all {
            let flip = |flip: &crate::reproduce::Flip| {
                format!(
                    "{}: <span class=\"{}\">{}</span> instead of {}<div class=\"why\">{}</div>",
                    escape(&flip.claim),
                    class(flip.to),
                    flip.to,
                    flip.from,
                    escape(&flip.measured)
                )
            };
            let flips: Vec<String> = one.flips.iter().map(flip).collect();
            let none = format!("none of {}", one.judged);
            let flips = if flips.is_empty() { none } else { flips.join("") };
            self.line(&format!(
                "<tr><td>{}<div class=\"why\">{} ({} seeds)</div></td><td>{flips}</td></tr>",
                escape(&one.name),
                escape(&one.why),
                one.seeds
            ));
        }
        self.line("</table>");
    }

    fn list(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        let items: String = items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
        self.line(&format!("<details open><summary>{heading}</summary><ul>{items}</ul></details>"));
    }

    fn parameters(&mut self, chapter: &Chapter<'_>) {
        let study = chapter.study;
        let id = &study.experiment.head.id;
        let runs: usize =
            study.points.grids.iter().map(|grid| grid.points.len() * grid.seeds.len()).sum();
        let seeds = study.points.grids.iter().map(|grid| grid.seeds.len()).max().unwrap_or(0);
        let mode = if study.options.quick { " --quick" } else { "" };
        self.line(&format!(
            "<p class=\"soft\">{runs} runs, {seeds} seeds per point. Again: <code>polypath reproduce {}{mode}</code></p>",
            escape(id)
        ));
        self.line(&format!(
            "<details><summary>Scenario and sweep</summary><pre>{}</pre></details>",
            escape(&study.experiment.scenario_text())
        ));
    }
}

fn comparisons(claim: &ClaimReport) -> String {
    let one = |one: &Comparison| {
        let at = if one.at.is_empty() { String::new() } else { format!("{}: ", escape(&one.at)) };
        let effect = one.effect.as_ref().map_or(String::new(), |e| format!(" [{}]", escape(e)));
        let bound =
            if one.bound.is_empty() { String::new() } else { format!("; {}", escape(&one.bound)) };
        let class = class(one.verdict);
        format!(
            "<div>{at}{}<span class=\"soft\">{bound}</span>{effect} <span class=\"{class}\">{}</span></div>",
            escape(&one.measured).replace("+-", "±"),
            mark(one.verdict)
        )
    };
    let all = &claim.finding.comparisons;
    if all.len() <= SHOWN {
        return all.iter().map(one).collect();
    }
    let telling = claim.finding.telling().map(one).unwrap_or_default();
    let count = |verdict| all.iter().filter(|one| one.verdict == verdict).count();
    format!(
        "{telling}<details><summary>{} of {} comparisons hold</summary>{}</details>",
        count(Verdict::Holds),
        all.len(),
        all.iter().map(one).collect::<String>()
    )
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "does-not-hold",
        Verdict::Unclear => "unclear",
    }
}

const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::DoesNotHold => "✗",
        Verdict::Unclear => "?",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
