//! `polypath cross-check --draws`. What needs root says without it that it is skipped, and fails
//! where POLYPATH_REQUIRE_ROOT=1 says that it must not be.

use std::process::{Command, Output};

const MISSING: i32 = 3;

fn cross_check(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.arg("cross-check").args(arguments).output().unwrap()
}

#[test]
fn a_draw_runs_in_both_worlds_and_what_was_passed_over_is_counted() {
    let few = ["--draws", "1", "--seed", "5", "--packets", "1000", "--runs", "2", "--json"];
    let output = cross_check(&few);
    let talk = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(MISSING) {
        return polypath_emu::for_tests::skip(&talk);
    }
    // How well they agree is for docs/evidence/population-on-wires.md, on a quiet machine.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{talk}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let draw = &report["draws"][0];
    let simulated = draw["simulated"].as_array().unwrap();
    assert_eq!(simulated.len(), 2);
    assert!(draw["emulated"][0]["goodput"].as_f64().unwrap() > 0.0, "{report}");
    let over = report["passed-over"].as_object().unwrap().values();
    let over: u64 = over.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(report["looked-at"].as_u64(), Some(over + 1), "{report}");
}

#[test]
fn draws_take_the_place_of_files() {
    for arguments in [&["--draws", "1", "x.toml"][..], &["--draws", "0"], &[]] {
        let output = cross_check(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
