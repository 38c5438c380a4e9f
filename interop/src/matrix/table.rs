//! The matrix as a Markdown page.

use std::fmt::Write as _;

use super::outcome::{Cell, Matrix, Row};

const HEAD: &str = "\
# Polypath and usrsctp

Written by `cargo run --release -p polypath-interop -- matrix --write docs/evidence/interop.md` (as root); `cargo test` holds the same
conversations. The other stack is usrsctp, FreeBSD's SCTP in user space, as Debian packages it (`libusrsctp-dev` 0.9.5);
`interop/README.md` describes its end, and its known faults.

In each conversation both ends check every message: its stream, its place there, its length and each of its bytes. The network
between them is emulated: paths of 200 Mbit/s and 1 ms unless the name says otherwise. What goes over the client's interfaces is captured, and
tshark reads the capture with verification of SCTP, UDP and IP checksums switched on: one packet that is malformed or has a wrong checksum fails the
conversation. Where the name promises something that messages alone do not show (data on all paths, an NR-SACK, an I bit, a restart), results or
capture must show it. `interop/src/matrix/case.rs` has the options of all conversations.

What one has to know of the two:

- Usrsctp neither announces DAC nor asks whether its peer has it, so our end is told to assume it (`AssocConfig::cmt.dac_unannounced`). Left alone, our
  end sends it plain SACKs and takes its SACKs for those of a peer that does not count.
- A server of ours learns further addresses of a client from its packets. A client of ours sends some at once on every path; usrsctp is silent where it has nothing to send
  until its heartbeat interval of 30 s is over. In conversations that need all paths it is 0.3 s.
- Usrsctp sends all packets from one UDP socket, which leaves the choice of the source address to the routing table: it cannot have several paths to one address of
  its peer (—).
- Usrsctp's CMT does not recover from a path that dies in silence: the conversation in which a path is cut is held without its CMT.
";

/// The matrix as a Markdown page.
pub fn render_markdown(matrix: &Matrix) -> String {
    let mut page = HEAD.to_owned();
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
    let _ = writeln!(page, "\n{}", sum_rows(&matrix.rows));
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

fn sum_rows(rows: &[Row]) -> String {
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let packets: u64 = cells()
        .map(|cell| match cell {
            Cell::Passed(facts) => facts.packets,
            _ => 0,
        })
        .sum();
    let held = cells().filter(|cell| matches!(cell, Cell::Passed(_) | Cell::Failed(_))).count();
    let failed = cells().filter(|cell| cell.failed()).count();
    format!(
        "{held} conversations held, {failed} failed. Captured were {packets} packets of SCTP; in those of the conversations that did not fail, \
         none was malformed and no checksum was wrong."
    )
}
