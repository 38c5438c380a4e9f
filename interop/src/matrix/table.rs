//! The matrix as a Markdown page.

use std::fmt::Write as _;

use super::outcome::{Cell, Matrix, Row};

/// What the page says of the conversations, below what was found.
const CONDITIONS: &str = include_str!("conditions.md");

/// The matrix as a Markdown page.
pub fn render_markdown(matrix: &Matrix) -> String {
    let found = describe_findings(&matrix.rows);
    let mut page = format!("# Polypath and usrsctp\n\n{found}\n\n{CONDITIONS}");
    let mut group = "";
    for row in &matrix.rows {
        if row.case.group != group {
            group = row.case.group;
            let _ = writeln!(page, "\n## {group}\n");
            page += "| conversation | our client, usrsctp's server | usrsctp's client, our server |\n|---|---|---|\n";
        }
        let [client, server] = &row.cells;
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            row.case.name,
            describe_cell(client),
            describe_cell(server)
        );
    }
    for line in matrix.failures() {
        let _ = writeln!(page, "\nFailed: {line}");
    }
    for line in &matrix.skipped {
        let _ = writeln!(page, "\nSkipped: {line}");
    }
    page.replacen("\n\n\n", "\n\n", 1)
}

const fn describe_cell(cell: &Cell) -> &'static str {
    match cell {
        Cell::Passed(_) => "ok",
        Cell::Failed(_) => "**failed**",
        Cell::Skipped => "skipped",
        Cell::NotPossible => "—",
    }
}

/// What was found, and what was not.
fn describe_findings(rows: &[Row]) -> String {
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let packets: u64 = cells()
        .map(|cell| match cell {
            Cell::Passed(facts) => facts.packets,
            _ => 0,
        })
        .sum();
    let held = cells().filter(|cell| matches!(cell, Cell::Passed(_) | Cell::Failed(_))).count();
    let failed = cells().filter(|cell| cell.failed()).count();
    let one_role = cells().filter(|cell| matches!(cell, Cell::NotPossible)).count();
    let understand = match failed {
        0 => "understand each other",
        _ => "do not understand each other everywhere",
    };
    format!(
        "**Found:** Polypath and usrsctp, FreeBSD's SCTP in user space, {understand}:\n\
         {held} conversations held, {failed} failed. But for those that failed, none of {packets} captured\n\
         packets of SCTP was malformed or had a wrong checksum. {one_role} conversations are held in one of\n\
         the two roles only (—); usrsctp's known faults are in `interop/README.md`."
    )
}
