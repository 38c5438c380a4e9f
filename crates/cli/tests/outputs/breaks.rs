//! Readers that have seen enough.

use std::io::pipe;
use std::process::{Command, Stdio};

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

/// Fewer descriptors than any of them needs.
#[test]
fn who_has_few_descriptors_is_told_in_lines() {
    let stage = Stage::new();
    let peer = "pp:s2o7gebul44a3d6ved6qr3zzoupptn7skjnlkj4gfttv2kvgxynq";
    for line in [
        &format!("doctor --to 127.0.0.1:9 --peer {peer}"),
        &format!("forward -L 0:a:1 --to 127.0.0.1:9 --peer {peer}"),
        "serve --listen 127.0.0.1 --allow-anyone",
        "perf -c 127.0.0.1:9 --insecure",
        "send tiny.toml --insecure --to 127.0.0.1:9",
        "receive --insecure --listen 127.0.0.1:0 --once",
    ] {
        for limit in 4..=8 {
            let polypath = stage.command(line);
            let mut command = Command::new("sh");
            // Tests beside this one may have left it some of theirs.
            let closed: String = (3..10).map(|number| format!(" {number}>&-")).collect();
            command.args(["-c", &format!("exec{closed}; ulimit -n {limit}; exec \"$0\" \"$@\"")]);
            command.arg(polypath.get_program()).args(polypath.get_args());
            command.env("POLYPATH_HOME", stage.path("home")).current_dir(stage.path(""));
            let output = command.stdin(Stdio::null()).output().unwrap();
            let talk = String::from_utf8(output.stderr).unwrap();
            // What `perf` lacks has no code of its own.
            let codes = if line.starts_with("perf") { &[1, 5][..] } else { &[5] };
            let code = output.status.code().unwrap_or(-1);
            assert!(codes.contains(&code), "{line}, {limit}, code {code}: {talk}");
            let last = talk.lines().last().unwrap();
            let says = last.to_lowercase().contains("too many open files");
            assert!(says && last.starts_with("polypath: "), "{line}, {limit}: {talk}");
        }
    }
}
