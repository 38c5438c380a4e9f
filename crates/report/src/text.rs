//! Figures and verdicts for the terminal.

use comfy_table::CellAlignment;
use polypath_experiments::evaluate::Finding;
use polypath_experiments::experiment::Paper;
use polypath_experiments::reproduce::ExperimentReport;

use crate::chapter::{describe_agreement, figures_of, papers_of};
use crate::columns::{new_table, render_table};
use crate::figure::{Diagram, Drawing, Rows, tabulate_diagram};
use crate::readings::describe_readings;

/// Columns of a terminal that a table may take.
const WIDTH: usize = 110;

/// A figure as tables, one per panel.
pub fn format_figure(drawing: &Drawing) -> String {
    let one = |(diagram, _): &(Diagram, String)| {
        let heading = match diagram.heading.as_str() {
            "" => drawing.title.clone(),
            heading => format!("{}: {heading}", drawing.title),
        };
        let over = format!("{} over {}", diagram.y_label, diagram.x_label);
        format!(
            "{}: {heading}\n{over}\n{}",
            drawing.name,
            split_columns(&tabulate_diagram(diagram, false), 1)
        )
    };
    drawing.panels.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The columns in as many tables, one below the other, as the terminal's width asks for; each has
/// the first columns, which are `labels`.
pub(crate) fn split_columns(all: &Rows, labels: usize) -> String {
    let width = |column: usize| {
        let cells = all.rows.iter().filter_map(|row| row.get(column));
        let cells = cells.chain(all.head.get(column)).map(|cell| cell.chars().count());
        // A blank on both sides.
        cells.max().unwrap_or(0) + 2
    };
    let taken: usize = (0..labels).map(width).sum();
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for column in labels..all.head.len() {
        match blocks.last_mut().filter(|_| room >= width(column)) {
            Some(block) => block.push(column),
            None => {
                blocks.push((0..labels).chain([column]).collect());
                room = WIDTH.saturating_sub(taken);
            }
        }
        room = room.saturating_sub(width(column));
    }
    blocks.iter().map(|block| block_table(all, block, labels)).collect::<Vec<_>>().join("\n")
}

fn block_table(all: &Rows, columns: &[usize], labels: usize) -> String {
    let chosen = |cells: &[String]| -> Vec<String> {
        columns.iter().filter_map(|column| cells.get(*column).cloned()).collect()
    };
    let head = chosen(&all.head);
    let mut shown = new_table(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for label in shown.column_iter_mut().take(labels) {
        label.set_cell_alignment(CellAlignment::Left);
    }
    for row in &all.rows {
        shown.add_row(chosen(row));
    }
    render_table(&shown)
}

/// The claims of an experiment and what was found.
pub fn format_claims(report: &ExperimentReport) -> String {
    let mut table = new_table(&["claim", "says", "verdict", "effect", "measured", "paper"]);
    for words in table.column_iter_mut().filter(|column| column.index != 3) {
        words.set_cell_alignment(CellAlignment::Left);
    }
    for claim in &report.claims {
        table.add_row(claim_cells(&claim.id, &claim.title, &claim.finding, figures_of(claim)));
        for one in &claim.readings {
            let name = format!("  {}", one.reading);
            table.add_row(claim_cells(&name, "", &one.finding, String::new()));
        }
    }
    let mut text = format!("{} {}\n{}", report.id, report.title, render_table(&table));
    if let Some(counts) = describe_readings(std::slice::from_ref(report)) {
        text.push_str(&format!("  {counts}\n"));
    }
    if let Some(agreement) = describe_agreement(&report.deviations) {
        text.push_str(&format!("  reference data: {agreement}\n"));
    }
    for one in &report.sensitivity {
        let flips: Vec<String> =
            one.flips.iter().map(|flip| format!("{} {}", flip.claim, flip.to)).collect();
        let flips = if flips.is_empty() { "nothing changes".to_owned() } else { flips.join(", ") };
        text.push_str(&format!("  with {}: {flips}\n", one.name));
    }
    text
}

/// What is concluded of each paper.
pub fn format_conclusions(reports: &[ExperimentReport]) -> String {
    let one = |paper: &Paper| {
        format!("{}: {}\n  {}\n", paper.id, paper.title, paper.conclusion.join("\n  "))
    };
    papers_of(reports).into_iter().map(one).collect()
}

/// A row of the table: a name, and what was found.
fn claim_cells(name: &str, says: &str, finding: &Finding, figures: String) -> Vec<String> {
    let told = finding.most_telling();
    let measured = told.map(|one| {
        let at = if one.at.is_empty() { String::new() } else { format!("{}: ", one.at) };
        let bound = if one.bound.is_empty() { String::new() } else { format!(" ({})", one.bound) };
        format!("{at}{}{bound}", one.describe_outcome())
    });
    let effect = told.and_then(|one| one.effect.clone()).unwrap_or_default();
    let (name, verdict) = (name.to_owned(), finding.verdict.to_string());
    vec![name, says.to_owned(), verdict, effect, measured.unwrap_or_default(), figures]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_no_wider_than_a_terminal() {
        let cells = |name: &str| (0..12).map(|n| format!("{name} {n:0>20}")).collect::<Vec<_>>();
        let text = split_columns(&Rows { head: cells("curve"), rows: vec![cells("value")] }, 1);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        for n in 0..12 {
            assert!(text.contains(&format!("value {n:0>20}")), "{n}");
        }
    }

    #[test]
    fn each_reading_has_a_row_below_the_claim() {
        let text = format_claims(&crate::readings::tests::report_of_two_readings());
        let rows: Vec<&str> = text.lines().collect();
        let own = rows.iter().position(|row| row.starts_with("S9-F1-c2")).unwrap();
        assert!(rows[own].contains("does not hold") && rows[own].contains("own figure"), "{text}");
        assert!(rows[own + 1].starts_with("  in turn"), "{text}");
        assert!(rows[own + 1].contains("holds") && rows[own + 1].contains("other"), "{text}");
        assert!(text.contains("1 by both."), "{text}");
    }
}
