//! Ctrl-C: nothing half-written stays, and what was finished is not done again.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::desk::{Desk, TINY, files};
use crate::reproduce::EXPERIMENT;

/// As shells report a process that SIGINT ended.
const INTERRUPTED: Option<i32> = Some(130);

fn start(desk: &Desk, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.current_dir(desk.path("")).args(line.split(' '));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until `ready`, then presses Ctrl-C; the exit code.
fn interrupt(mut child: Child, ready: impl Fn() -> bool) -> Option<i32> {
    while !ready() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        pause();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    child.wait().unwrap().code()
}

#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(2));
}

#[test]
fn a_capture_that_is_interrupted_leaves_nothing() {
    let desk = Desk::new();
    fs::create_dir(desk.path("out")).unwrap();
    // A month of simulated time does not end by itself here.
    let files_of = "--pcap out/run.pcapng --trace out/run.jsonl";
    let child = start(&desk, &format!("simulate tiny.toml --set time.measure=720h {files_of}"));
    let parts = || fs::read_dir(desk.path("out")).unwrap().count();
    assert_eq!(interrupt(child, || parts() == 2), INTERRUPTED);
    assert_eq!(files(&desk.path("out")), []);
}

#[test]
fn a_set_that_is_interrupted_goes_on_where_it_was() {
    let desk = Desk::new();
    desk.write("papers/one.toml", format!("{TINY}{EXPERIMENT}").replace("\"3s\"", "\"150s\""));
    let line = "reproduce --scenarios papers --seeds 12";
    let kept = || desk.stored("results").len();
    assert_eq!(interrupt(start(&desk, line), || kept() > 0), INTERRUPTED);
    let found = kept();
    assert!(found > 0 && found < 36 && !desk.path("results/report.html").exists());
    let (_, talk) = desk.done(line);
    let expected = format!("{} runs made, {found} found in the store", 36 - found);
    assert!(talk.contains(&expected), "{expected}: {talk}");
    assert_eq!(kept(), 36);
    desk.done(&format!("{line} --out fresh"));
    assert_eq!(desk.stored("results"), desk.stored("fresh"));
    assert_eq!(desk.read("results/T-one/runs.csv"), desk.read("fresh/T-one/runs.csv"));
}

#[test]
fn a_sweep_that_is_interrupted_leaves_whole_runs_only() {
    let desk = Desk::new();
    desk.write("long.toml", TINY.replace("\"3s\"", "\"600s\""));
    let line = "sweep long.toml --seeds 24";
    let kept = || desk.stored("results").len();
    assert_eq!(interrupt(start(&desk, line), || kept() > 0), INTERRUPTED);
    assert!(kept() < 24);
    assert!(!desk.path("results/long").exists(), "a table of some of the runs");
    let found = files(&desk.path("results"));
    assert!(found.iter().all(|(name, _)| name.starts_with("runs/")), "{found:?}");
}
