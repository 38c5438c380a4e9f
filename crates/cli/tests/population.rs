//! `polypath population` from the outside.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn polypath() -> Command {
    Command::cargo_bin("polypath").expect("the binary")
}

fn population(folder: &Path, more: &[&str]) -> Command {
    let mut command = polypath();
    command.args(["population", "--packets", "2000", "--schedulers", "none", "--out"]);
    command.arg(folder).args(more);
    command
}

#[test]
fn a_population_is_summarized_kept_and_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = population(folder.path(), &["--draws", "3"]).assert().success();
    let text = String::from_utf8(first.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("3 draws of seed 1, at most 2000 packets in a run."), "{text}");
    assert!(folder.path().join("population.md").exists());
    let page = fs::read_to_string(folder.path().join("population.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), page.matches("<figcaption>").count());
    assert!(page.matches("<svg").count() >= 3 && page.contains("3 draws of seed 1"));
    let again = population(folder.path(), &["--draws", "5"]).assert().code(2);
    let told = String::from_utf8_lossy(&again.get_output().stderr).into_owned();
    assert!(told.contains("there are draws already (allowed: --resume, or another --out)"));
    let resumed = population(folder.path(), &["--draws", "5", "--resume", "--json"]);
    let resumed = { resumed }.assert().success();
    let json: serde_json::Value = serde_json::from_slice(&resumed.get_output().stdout).unwrap();
    assert_eq!(json["draws"], 5);
}

#[test]
fn one_draw_is_a_scenario_that_simulate_runs() {
    let folder = tempfile::tempdir().unwrap();
    population(folder.path(), &["--draw", "1"]).assert().success();
    let scenario = folder.path().join("draw-1-1.toml");
    polypath().arg("simulate").arg(scenario).assert().success();
}

#[test]
fn schedulers_are_checked_before_anything_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = polypath();
    command.args(["population", "--schedulers", "rr,nonsense", "--out"]).arg(folder.path());
    let refused = command.assert().code(2);
    let told = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(told.contains("--schedulers nonsense: "), "{told}");
}
