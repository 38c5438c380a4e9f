//! One experiment on the page: figures, tables, claims, reference data, other readings.

use polypath_experiments::evaluate::{Comparison, Verdict};
use polypath_experiments::reproduce::{ClaimReport, Deviation, Flip, SensitivityReport};

use super::page::{Page, agreement_of, badge, escape, shown};
use super::parameters::parameters;
use crate::chapter::Chapter;
use crate::figure::{Diagram, Drawing, Rows, Tabulated, rows};

/// Comparisons that a claim shows at once; the rest can be unfolded.
const SHOWN: usize = 3;

impl Page {
    /// What there is to say about one experiment.
    pub(super) fn chapter(&mut self, chapter: &Chapter<'_>) {
        let head = &chapter.study.experiment.head;
        let id = escape(&head.id);
        self.line(&format!("<section id=\"{id}\"><h3>{id}: {}</h3>", escape(&head.title)));
        self.line(&format!(
            "<p>{} <span class=\"soft\">({})</span></p>",
            escape(&head.question),
            escape(&head.source)
        ));
        let original = chapter.report.deviations.first().map(|one| one.reference.as_str());
        for drawing in chapter.drawings {
            self.drawing(drawing, original);
        }
        chapter.tables.iter().for_each(|table| self.tabulated(table));
        self.claims(&chapter.report.claims);
        self.deviations(&chapter.report.deviations);
        self.sensitivity(&chapter.report.sensitivity);
        self.list("Assumptions of ours", &head.assumptions);
        self.list("Notes", &head.notes);
        parameters(self, chapter.study);
        self.line("</section>");
    }

    fn drawing(&mut self, drawing: &Drawing, original: Option<&str>) {
        for (diagram, svg) in &drawing.panels {
            let heading = match diagram.heading.as_str() {
                "" => String::new(),
                heading => format!(": {}", escape(heading)),
            };
            let marks = if diagram.curves.iter().any(|curve| !curve.reference.is_empty()) {
                format!(" Hollow: the original simulator ({}).", escape(original.unwrap_or("")))
            } else {
                String::new()
            };
            self.line(&format!(
                "<figure>{svg}<figcaption><b>{}</b> {}{heading}.{marks}</figcaption></figure>",
                escape(&drawing.name),
                escape(&drawing.title),
            ));
            self.figures(diagram);
        }
    }

    fn tabulated(&mut self, table: &Tabulated) {
        self.line(&format!("<h4>{}</h4>", escape(&table.title)));
        if !table.note.is_empty() {
            self.line(&format!("<p>{}</p>", escape(&table.note)));
        }
        for (heading, rows) in &table.panels {
            let heading = if heading.is_empty() { "The table" } else { heading };
            self.rows(heading, rows);
        }
    }

    /// The diagram as a table, for who wants the numbers.
    fn figures(&mut self, diagram: &Diagram) {
        self.rows(&format!("{} in numbers", diagram.y_label), &rows(diagram, true));
    }

    /// A table to be unfolded.
    fn rows(&mut self, heading: &str, table: &Rows) {
        let cell = |tag: &str, n: usize, text: &String| {
            let class = if n == 0 { "" } else { " class=\"number\"" };
            format!("<{tag}{class}>{}</{tag}>", shown(text))
        };
        let line = |tag: &str, cells: &[String]| {
            let cells: String =
                cells.iter().enumerate().map(|(n, text)| cell(tag, n, text)).collect();
            format!("<tr>{cells}</tr>")
        };
        let body: String = table.rows.iter().map(|row| line("td", row)).collect();
        self.line(&format!(
            "<details><summary>{}</summary><table>{}{body}</table></details>",
            escape(heading),
            line("th", &table.head)
        ));
    }

    fn claims(&mut self, claims: &[ClaimReport]) {
        if claims.is_empty() {
            return;
        }
        self.line("<h4>Claims</h4>");
        self.line("<table><tr><th>claim</th><th>the paper says</th><th>verdict</th><th>measured</th></tr>");
        for claim in claims {
            let id = escape(&claim.id);
            self.line(&format!(
                "<tr><td class=\"id\" id=\"{id}\">{id} <span class=\"soft\">{}</span></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                claim.kind.letter(),
                statement(claim),
                badge(claim.finding.verdict),
                comparisons(claim)
            ));
        }
        self.line("</table>");
    }

    fn deviations(&mut self, deviations: &[Deviation]) {
        if deviations.is_empty() {
            return;
        }
        self.line("<h4>Beside the original simulator</h4>");
        self.line(&format!(
            "<details><summary>{}: within 15 %, or overlapping intervals</summary>",
            agreement_of(deviations)
        ));
        self.line(
            "<table><tr><th>point</th><th class=\"number\">original</th><th class=\"number\">ours</th>\
             <th class=\"number\">deviation</th><th></th></tr>",
        );
        for one in deviations {
            let verdict = match (one.ours, one.agrees) {
                (None, _) => "<span class=\"soft\">not run</span>",
                (Some(_), true) => "<span class=\"holds\">agrees</span>",
                (Some(_), false) => "<span class=\"does-not-hold\">disagrees</span>",
            };
            let cells =
                one.shown().map(|text| format!("<td class=\"number\">{}</td>", shown(&text)));
            let place = escape(&one.place());
            self.line(&format!("<tr><td>{place}</td>{}<td>{verdict}</td></tr>", cells.concat()));
        }
        self.line("</table></details>");
    }

    fn sensitivity(&mut self, all: &[SensitivityReport]) {
        if all.is_empty() {
            return;
        }
        self.line("<h4>Sensitivity</h4>");
        self.line("<table><tr><th>another reading</th><th class=\"number\">seeds</th><th>verdicts that change</th></tr>");
        for one in all {
            let flip = |flip: &Flip| {
                format!(
                    "<div>{}: {} instead of {}<div class=\"why\">{}</div></div>",
                    escape(&flip.claim),
                    badge(flip.to),
                    badge(flip.from),
                    shown(&flip.measured)
                )
            };
            let none = format!("<span class=\"soft\">none of {}</span>", one.judged);
            let flips = match one.flips.len() {
                0 => none,
                _ => one.flips.iter().map(flip).collect(),
            };
            self.line(&format!(
                "<tr><td>{}<div class=\"why\">{}</div></td><td class=\"number\">{}</td><td>{flips}</td></tr>",
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
}

/// What the paper says, and what there is to say about it.
fn statement(claim: &ClaimReport) -> String {
    let mut text = escape(&claim.says);
    let missing = "No explanation given.".to_owned();
    let open = claim.finding.verdict != Verdict::Holds;
    let explain = claim.explain.as_ref().or(open.then_some(&missing));
    let more = [
        ("Bound changed: ", claim.bound_changed.as_ref()),
        ("", explain),
        ("", claim.note.as_ref()),
    ];
    for (lead, more) in more {
        if let Some(more) = more {
            text.push_str(&format!("<div class=\"why\">{lead}{}</div>", escape(more)));
        }
    }
    text
}

fn comparisons(claim: &ClaimReport) -> String {
    let one = |one: &Comparison| {
        let at = if one.at.is_empty() { String::new() } else { format!("{}: ", escape(&one.at)) };
        let effect = one.effect.as_ref().map_or(String::new(), |e| format!(" [{}]", shown(e)));
        let bound =
            if one.bound.is_empty() { String::new() } else { format!("; {}", shown(&one.bound)) };
        format!(
            "<div>{at}{}<span class=\"soft\">{bound}</span>{effect} {}</div>",
            shown(&one.measured),
            badge(one.verdict)
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
