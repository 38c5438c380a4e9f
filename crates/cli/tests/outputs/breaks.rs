//! Readers that have seen enough.

use std::io::pipe;
use std::process::Stdio;

use crate::stage::Stage;

#[test]
fn a_reader_that_is_gone_is_no_error() {
    let stage = Stage::new();
    let lines = [
        "policies",
        "metrics",
        "metrics --json",
        "examples",
        "examples lte-wifi",
        "init",
        "completions bash",
        "schema",
        "schema trace",
        "--help",
        "simulate --help",
        "--version",
        "simulate tiny.toml",
        "simulate tiny.toml --json",
        "sweep tiny.toml --quiet",
    ];
    for line in lines {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = stage.command(line).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{line}");
        assert_eq!(output.status.code(), Some(0), "{line}");
    }
}

/// `2>&1 | head`: what is said beside the results finds nobody, either.
#[test]
fn talk_that_nobody_reads_does_not_end_a_run() {
    let stage = Stage::new();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let mut command = stage.command("sweep tiny.toml --seeds 2");
    let status = command.stdout(Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(stage.path("results/tiny/runs.csv").exists());
}
