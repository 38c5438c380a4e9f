//! The matrix of conversations with usrsctp. Needs root and a few programs: where
//! POLYPATH_REQUIRE_ROOT=1 says that they must be there, what is skipped counts as failed;
//! elsewhere the test says what it skipped, and why.

use std::path::PathBuf;

use polypath_emu::for_tests::skip;
use polypath_interop::matrix::{self, CASES, ROLES, Settings};

#[test]
fn polypath_and_usrsctp_understand_each_other() {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_polypath-interop"));
    let keep = std::env::var_os("POLYPATH_INTEROP_KEEP").map(PathBuf::from);
    let settings = Settings { own, only: String::new(), keep, jobs: 3 };
    let matrix = matrix::run_matrix(&settings).unwrap();
    let failures = matrix.failures();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for skipped in &matrix.skipped {
        skip(skipped);
    }
}

#[test]
fn the_page_has_every_case() {
    let page = include_str!("../../docs/evidence/interop.md");
    for case in CASES {
        let cell = |ours| if case.only.is_none_or(|only| only == ours) { "ok" } else { "—" };
        let [client, server] = ROLES.map(cell);
        let line = format!("| {} | {client} | {server} |", case.name);
        assert!(page.contains(&line), "{line}: write docs/evidence/interop.md anew");
    }
}
