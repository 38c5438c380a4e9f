//! `polypath emulate`. What needs root says without it that it is skipped, and fails where
//! POLYPATH_REQUIRE_ROOT=1 says that it must not be.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = "[path.a]\nrate = '20Mbit/s'\ndelay = '5ms'\n[path.b]\ndelay = '5ms'\n\
                        [[flow]]\napp = 'saturated'\n[time]\nmeasure = '1s'\n";
const MISSING: i32 = 3;

fn polypath() -> Command {
    Command::new(env!("CARGO_BIN_EXE_polypath"))
}

/// Runs the command over a scenario; nothing without root.
fn emulate(arguments: &[&str]) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    fs::write(&file, SCENARIO).unwrap();
    let output = polypath().arg("emulate").arg(file).args(arguments).output().unwrap();
    if output.status.code() == Some(MISSING) {
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().count(), 1, "{text}");
        polypath_emu::for_tests::skip(&text);
        return None;
    }
    Some(output)
}

#[test]
fn the_command_finds_the_hosts_and_its_exit_code_is_passed_on() {
    let line = "echo $POLYPATH_CLIENT_ADDRS $POLYPATH_SERVER_ADDRS; ls /sys/class/net >&2; \
                readlink /proc/self/ns/net $POLYPATH_CLIENT_NS; exit 7";
    let Some(output) = emulate(&["--no-check", "--", "sh", "-c", line]) else { return };
    assert_eq!(output.status.code(), Some(7));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "10.0.1.1,10.0.2.1 10.0.1.2,10.0.2.2");
    assert!(lines[1].starts_with("net:[") && lines[1] == lines[2], "{text}");
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let Some(output) = emulate(&["--no-check", "--", "no-such-command"]) else { return };
    assert_eq!(output.status.code(), Some(127));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("polypath: no-such-command: "), "{text}");
}

#[test]
fn the_server_program_may_say_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let last_words = |when: &str| {
        let server = format!("{when} >> {} 2>/dev/null", said.display());
        let arguments = ["--no-check", "--server", &server, "--", "true"];
        let output = emulate(&arguments)?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(fs::read_to_string(&said).unwrap())
    };
    // Of its own accord, a little after the main program.
    let Some(text) = last_words("(sleep 0.5; echo done)") else { return };
    assert_eq!(text, "done\n");
    // Asked to, also when it is not the shell itself.
    let asked = "bash -c 'trap \"echo asked; exit\" TERM; while true; do sleep 0.05; done'";
    assert_eq!(last_words(asked).as_deref(), Some("done\nasked\n"));
}

#[test]
fn what_was_measured_is_in_the_json() {
    let Some(output) = emulate(&["--json", "--", "true"]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["routes"].as_array().unwrap().len(), 4);
    assert_eq!(report["links"][0]["link"], "a.forward");
}

#[test]
fn packets_are_captured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.pcapng");
    let send = "printf hello > /dev/udp/10.0.1.2/9";
    let arguments = ["--no-check", "--pcap", file.to_str().unwrap(), "--", "bash", "-c", send];
    let Some(output) = emulate(&arguments) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let capture = fs::read(&file).unwrap();
    assert!(capture.windows(5).any(|bytes| bytes == b"hello"));
}

#[test]
fn nothing_is_left_when_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    fs::write(&file, SCENARIO).unwrap();
    if emulate(&["--no-check", "--", "true"]).is_none() {
        return;
    }
    // The namespace is named once both processes are there.
    let line = "(trap '' INT TERM HUP; sleep 1000) & readlink /proc/self/ns/net; sleep 1000";
    let mut running = polypath();
    running.arg("emulate").arg(&file).args(["--no-check", "--", "sh", "-c", line]);
    let mut running = running.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut namespace = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut namespace).unwrap();
    let namespace = namespace.trim();
    assert!(inside(namespace) >= 2);
    running.kill().unwrap();
    running.wait().unwrap();
    // The guard does its work in its own time; if it did not, this would not end.
    while inside(namespace) > 0 {
        std::thread::yield_now();
    }
}

/// Processes in a network namespace.
fn inside(namespace: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let links = processes.filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok());
    links.filter(|link| link.as_os_str() == namespace).count()
}
