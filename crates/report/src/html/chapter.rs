//! One experiment on the page: figures, tables, claims, reference data, other readings.

use polypath_experiments::experiment::Paper;
use polypath_experiments::reproduce::{
    ClaimReport, Deviation, Flip, PaperFigureReport, ReadingReport, SensitivityReport,
};

use super::comparisons::format_comparisons;
use super::page::{Page, agreement_of, escape_html, format_measured, verdict_badge};
use super::parameters::{repeat_command, write_parameters};
use super::readings::{reading_cells, reading_heads};
use crate::chapter::Chapter;
use crate::figure::{Diagram, Drawing, Rows, Tabulated, tabulate_diagram};

impl Page {
    /// What there is to say about one experiment.
    pub(super) fn write_chapter(&mut self, chapter: &Chapter<'_>) {
        let head = &chapter.study.experiment.head;
        let id = escape_html(&head.id);
        self.push_line(&format!(
            "<section id=\"{id}\"><h3>{id}: {}</h3>",
            escape_html(&head.title)
        ));
        self.push_line(&format!(
            "<p>{} <span class=\"soft\">({})</span></p>",
            escape_html(&head.question),
            escape_html(&head.source)
        ));
        let original = chapter.report.deviations.first().map(|one| one.reference.as_str());
        let command = repeat_command(chapter.study);
        for drawing in chapter.drawings {
            self.write_drawing(drawing, original, &command);
        }
        chapter.tables.iter().for_each(|table| self.write_table(table));
        self.write_claims(&chapter.report.claims, &chapter.report.readings);
        self.write_deviations(&chapter.report.deviations);
        self.write_sensitivity(&chapter.report.sensitivity);
        self.write_list("Assumptions of ours", &head.assumptions);
        self.write_list("Notes", &head.notes);
        write_parameters(self, chapter.study);
        self.push_line("</section>");
    }

    /// What is concluded of a paper.
    pub(super) fn write_paper(&mut self, paper: &Paper) {
        self.push_line(&format!(
            "<p class=\"lead\">{}, <i>{}</i></p><p><b>Conclusion.</b> {}</p>",
            escape_html(&paper.reference),
            escape_html(&paper.title),
            escape_html(&paper.conclusion.join(" "))
        ));
    }

    fn write_drawing(&mut self, drawing: &Drawing, original: Option<&str>, command: &str) {
        let seeds = match drawing.seeds {
            None => String::new(),
            Some((first, last)) if first == last => format!(" Seed {first}."),
            Some((first, last)) => format!(" Seeds {first} to {last}."),
        };
        let origin = format!("{seeds} Made by <code>{}</code>.", escape_html(command));
        for (diagram, svg) in &drawing.panels {
            let heading = match diagram.heading.as_str() {
                "" => String::new(),
                heading => format!(": {}", escape_html(heading)),
            };
            let marks = if diagram.curves.iter().any(|curve| !curve.reference.is_empty()) {
                format!(
                    " Hollow: the original simulator ({}).",
                    escape_html(original.unwrap_or(""))
                )
            } else {
                String::new()
            };
            let printed = diagram.curves.iter().any(|curve| !curve.paper.is_empty());
            let stars = if printed { " Stars: what the paper prints." } else { "" };
            self.push_line(&format!(
                "<figure>{svg}<figcaption><b>{}</b> {}{heading}.{marks}{stars}{origin}</figcaption></figure>",
                escape_html(&drawing.name),
                escape_html(&drawing.title),
            ));
            self.write_diagram_values(diagram);
        }
    }

    fn write_table(&mut self, table: &Tabulated) {
        self.push_line(&format!("<h4>{}</h4>", escape_html(&table.title)));
        if !table.note.is_empty() {
            self.push_line(&format!("<p>{}</p>", escape_html(&table.note)));
        }
        for (heading, rows) in &table.panels {
            let heading = if heading.is_empty() { "The table" } else { heading };
            self.write_folded_table(heading, rows);
        }
    }

    /// The diagram as a table, for who wants the numbers.
    fn write_diagram_values(&mut self, diagram: &Diagram) {
        self.write_folded_table(
            &format!("{} in numbers", diagram.y_label),
            &tabulate_diagram(diagram, true),
        );
    }

    /// A table to be unfolded.
    fn write_folded_table(&mut self, heading: &str, table: &Rows) {
        let cell = |tag: &str, n: usize, text: &String| {
            let class = if n == 0 { "" } else { " class=\"number\"" };
            format!("<{tag}{class}>{}</{tag}>", format_measured(text))
        };
        let line = |tag: &str, cells: &[String]| {
            let cells: String =
                cells.iter().enumerate().map(|(n, text)| cell(tag, n, text)).collect();
            format!("<tr>{cells}</tr>")
        };
        let body: String = table.rows.iter().map(|row| line("td", row)).collect();
        self.push_line(&format!(
            "<details><summary>{}</summary><table>{}{body}</table></details>",
            escape_html(heading),
            line("th", &table.head)
        ));
    }

    fn write_claims(&mut self, claims: &[ClaimReport], readings: &[ReadingReport]) {
        if claims.is_empty() {
            return;
        }
        self.push_line("<h4>Claims</h4>");
        self.push_line(&format!(
            "<table class=\"prose\"><tr><th>claim</th><th>the paper says</th><th>verdict</th>\
             <th>measured</th>{}<th>the paper's figure, and ours</th></tr>",
            reading_heads(readings)
        ));
        for claim in claims {
            let id = escape_html(&claim.id);
            self.push_line(&format!(
                "<tr><td class=\"id\" id=\"{id}\">{id} <span class=\"soft\">{}</span></td><td>{}</td><td>{}</td><td>{}</td>{}<td>{}</td></tr>",
                claim.kind.letter(),
                format_statement(claim),
                verdict_badge(claim.finding.verdict),
                format_comparisons(&claim.finding),
                reading_cells(claim),
                claim.paper.iter().map(format_reading).collect::<String>()
            ));
        }
        self.push_line("</table>");
    }

    fn write_deviations(&mut self, deviations: &[Deviation]) {
        if deviations.is_empty() {
            return;
        }
        self.push_line("<h4>Beside the original simulator</h4>");
        self.push_line(&format!(
            "<details><summary>{}: within 15 %, or overlapping intervals</summary>",
            agreement_of(deviations)
        ));
        self.push_line(
            "<table><tr><th>point</th><th class=\"number\">original</th><th class=\"number\">ours</th>\
             <th class=\"number\">deviation</th><th></th></tr>",
        );
        for one in deviations {
            let verdict = match (one.ours, one.agrees) {
                (None, _) => "<span class=\"soft\">not run</span>",
                (Some(_), true) => "<span class=\"holds\">agrees</span>",
                (Some(_), false) => "<span class=\"does-not-hold\">disagrees</span>",
            };
            let cells = one
                .format_values()
                .map(|text| format!("<td class=\"number\">{}</td>", format_measured(&text)));
            let place = escape_html(&one.describe_place());
            self.push_line(&format!(
                "<tr><td>{place}</td>{}<td>{verdict}</td></tr>",
                cells.concat()
            ));
        }
        self.push_line("</table></details>");
    }

    fn write_sensitivity(&mut self, all: &[SensitivityReport]) {
        if all.is_empty() {
            return;
        }
        self.push_line("<h4>Sensitivity</h4>");
        self.push_line("<table><tr><th>another reading</th><th class=\"number\">seeds</th><th>verdicts that change</th></tr>");
        for one in all {
            let flip = |flip: &Flip| {
                format!(
                    "<div>{}: {} instead of {}<div class=\"why\">{}</div></div>",
                    escape_html(&flip.claim),
                    verdict_badge(flip.to),
                    verdict_badge(flip.from),
                    format_measured(&flip.measured)
                )
            };
            let none = format!("<span class=\"soft\">none of {}</span>", one.judged);
            let flips = match one.flips.len() {
                0 => none,
                _ => one.flips.iter().map(flip).collect(),
            };
            self.push_line(&format!(
                "<tr><td>{}<div class=\"why\">{}</div></td><td class=\"number\">{}</td><td>{flips}</td></tr>",
                escape_html(&one.name),
                escape_html(&one.why),
                one.seeds
            ));
        }
        self.push_line("</table>");
    }

    fn write_list(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        let items: String =
            items.iter().map(|item| format!("<li>{}</li>", escape_html(item))).collect();
        self.push_line(&format!(
            "<details open><summary>{heading}</summary><ul>{items}</ul></details>"
        ));
    }
}

/// What the paper says, and what there is to say about it.
fn format_statement(claim: &ClaimReport) -> String {
    let mut text = escape_html(&claim.says);
    if claim.title != claim.says.trim_end_matches('.') {
        text = format!("<b>{}</b><div>{text}</div>", escape_html(&claim.title));
    }
    let missing = "No explanation given.".to_owned();
    let open = !claim.holds_by_every_reading();
    let explain = claim.explain.as_ref().or(open.then_some(&missing));
    let more = [
        ("Bound changed: ", claim.bound_changed.as_ref()),
        ("", explain),
        ("", claim.note.as_ref()),
    ];
    for (lead, more) in more {
        if let Some(more) = more {
            text.push_str(&format!("<div class=\"why\">{lead}{}</div>", escape_html(more)));
        }
    }
    text
}

/// A figure of the paper with ours below it.
fn format_reading(one: &PaperFigureReport) -> String {
    let ours = one
        .ours
        .as_ref()
        .map_or(String::new(), |ours| format!("<div>ours: {}</div>", format_measured(ours)));
    format!(
        "<div>{}{ours}<div class=\"why\">{}</div></div>",
        format_measured(&one.describe_figure()),
        escape_html(&one.from)
    )
}
