//! `polypath perf` from outside, over the loopback device.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn polypath() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("polypath"));
    // Not the key of whoever runs this; both ends have the same here.
    command.env("POLYPATH_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/keys"));
    command
}

/// A client that knows its server.
fn client(args: &[&str]) -> Output {
    let key = String::from_utf8(polypath().arg("id").output().unwrap().stdout).unwrap();
    perf(&[&["--peer", key.trim()], args].concat())
}

fn perf(args: &[&str]) -> Output {
    polypath().arg("perf").args(args).output().unwrap()
}

/// A server, and what to call it.
struct Server {
    process: Child,
    talk: BufReader<std::process::ChildStderr>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// What it printed, at its end.
    fn printed(mut self) -> String {
        let mut text = String::new();
        self.process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(self.process.wait().unwrap().success());
        text
    }
}

/// Starts a server at a port of its own and waits until it listens.
fn server(at: &str, args: &[&str]) -> Server {
    let mut command = polypath();
    command.args(["perf", "-s", "--listen", at]).args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let talk = BufReader::new(process.stderr.take().unwrap());
    let mut server = Server { process, talk };
    loop {
        let mut line = String::new();
        assert!(server.talk.read_line(&mut line).unwrap() > 0, "the server ended");
        if line.starts_with("listening at ") {
            return server;
        }
    }
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn client_and_server_tell_the_same_in_json() {
    let server = server("127.0.0.31:9931", &["--one-off", "-J"]);
    let args = ["-t", "0.4", "-i", "0.2", "--streams", "2", "-P", "2", "-J"];
    let output = client(&[&["-c", "127.0.0.31:9931", "--local", "127.0.0.30"], &args[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["polypath_perf"], &report["interrupted"]), (&1.into(), &false.into()));
    let associations = report["associations"].as_array().unwrap();
    assert_eq!(associations.len(), 2);
    let lines = server.printed();
    let sessions: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(sessions.len(), 2);
    for one in associations {
        assert_eq!(one["client"]["intervals"].as_array().unwrap().len(), 2);
        let received = &one["server"]["received"];
        assert!(received["bytes"].as_u64().unwrap() > 0);
        assert!(sessions.iter().any(|session| session["report"]["received"] == *received));
        assert!(one["peer"].as_str().unwrap().starts_with("pp:"));
        assert_eq!(one["peer"], sessions[0]["peer"], "both ends have the same key");
    }
}

#[test]
fn tables_name_intervals_paths_and_cpu_time() {
    let mut server = server("127.0.0.33:9933", &["--listen", "127.0.0.34:9933", "--one-off"]);
    let ends = ["-c", "127.0.0.33:9933,127.0.0.34:9933", "--local", "127.0.0.35,127.0.0.36"];
    let output = client(&[&ends[..], &["-t", "0.3", "-O", "0.1", "-R"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let words = [
        "Goodput",
        "(omitted)",
        "sender (server)",
        "receiver (client)",
        "127.0.0.33 -> 127.0.0.35",
        "127.0.0.34 -> 127.0.0.36",
        "to the client",
        "CPU s/GB",
        "same clock",
    ];
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(server.process.wait().unwrap().success());
    let mut rest = String::new();
    server.talk.read_to_string(&mut rest).unwrap();
    assert!(rest.lines().all(|line| line.starts_with("warning: ")), "{rest}");
}

#[test]
fn what_cannot_work_is_one_line_and_a_code_of_its_own() {
    let told = |args: &[&str], code| {
        let output = perf(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", talk(&output));
        assert!(output.stdout.is_empty(), "{args:?}");
        let talk = talk(&output);
        let last = talk.lines().rfind(|line| line.starts_with("polypath: "));
        last.unwrap_or_else(|| panic!("{args:?}: {talk}")).to_owned()
    };
    let nobody = told(&["-c", "127.0.0.1:9", "--connect-timeout", "5"], 3);
    assert!(nobody.contains("refused"), "{nobody}");
    assert!(told(&["-s"], 2).contains("--listen"));
    assert!(told(&["-s", "--listen", "192.0.2.77"], 2).contains("192.0.2.77"));
    assert!(told(&["-c", "127.0.0.1", "--scheduler", "nosuch"], 2).contains("nosuch"));
    assert!(told(&["-c", "127.0.0.1", "--paths", "nosuch0"], 2).contains("nosuch0"));
    for odd in [&["-s", "-c", "x"][..], &[], &["-c", "x", "-b", "fast"], &["-s", "-t", "1"]] {
        assert_eq!(perf(odd).status.code(), Some(2), "{odd:?}");
    }
    let no_time = perf(&["-c", "127.0.0.1", "-t", "0"]);
    assert_eq!(no_time.status.code(), Some(2));
    assert!(talk(&no_time).contains("'0' for '--time"), "{}", talk(&no_time));
}
