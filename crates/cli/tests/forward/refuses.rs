//! Who is not named is not let in, what is not permitted is not reached, and why is said in a line.

use std::io::Read as _;
use std::process::Output;

use super::{Running, Stage, connect, echo, json_lines, text};

/// The only line of a command that failed.
fn refusal(output: &Output, code: i32) -> String {
    let talk = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{talk}");
    let lines: Vec<_> = talk.lines().filter(|line| !line.starts_with("warning: ")).collect();
    assert_eq!(lines.len(), 1, "{talk}");
    lines[0].to_owned()
}

#[test]
fn a_server_wants_to_be_told_who_may_connect() {
    let stage = Stage::new();
    let output = stage.command("server").args(["serve", "--listen", "127.0.0.1"]).output();
    let refusal = refusal(&output.unwrap(), 2);
    assert!(refusal.contains("--allow FILE") && refusal.contains("--allow-anyone"), "{refusal}");
}

#[test]
fn nothing_is_reached_unless_it_is_permitted() {
    let stage = Stage::new();
    let (permitted, other) = (echo(), echo());
    let _server = stage.serve(&["--permit", &format!("127.0.0.1:{permitted},*.example:80")]);
    for target in [format!("127.0.0.1:{other}"), "localhost:1".into(), "nowhere.invalid:80".into()]
    {
        let refusal = refusal(&stage.stdio(&target, &[], b""), 4);
        assert_eq!(refusal, format!("polypath: {target}: not permitted"));
    }
    drop(std::net::TcpListener::bind("127.0.0.1:0"));
    let refusal = refusal(&stage.stdio("a.example:80", &[], b""), 4);
    assert!(refusal.ends_with("no such name") || refusal.ends_with("timed out"), "{refusal}");
}

#[test]
fn who_is_not_named_is_not_let_in() {
    let stage = Stage::new();
    std::fs::write(stage.path("clients"), &stage.key).unwrap();
    let _server = stage.serve(&[]);
    let refusal = refusal(&stage.stdio("127.0.0.1:1", &[], b""), 6);
    assert!(refusal.contains("does not let this host in"), "{refusal}");
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    let stage = Stage::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let busy = format!("{taken}:db:5432");
    for (words, code, told) in [
        (&[][..], 2, "nothing to forward"),
        (&["-L", "x"], 2, "'--local-forward"),
        (&["-L", "1:*:80"], 2, "'--local-forward"),
        (&["-D", "99999"], 2, "'--dynamic-forward"),
        (&["-L", &busy], 5, "cannot listen at"),
        (&["--stdio", "db:5432", "-L", "1:db:1"], 2, "cannot be used with"),
    ] {
        let output = stage.client(words).output().unwrap();
        let talk = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {talk}");
        assert!(talk.contains(told), "{words:?}: {talk}");
    }
    let output = stage.stdio("db:5432", &["--connect-timeout", "300ms", "--no-join"], b"");
    let refusal = refusal(&output, 3);
    assert!(refusal.contains("not reached in time: no "), "{refusal}");
}

#[test]
fn with_json_every_event_is_a_line() {
    let stage = Stage::new();
    let _server = stage.serve(&[]);
    let mut command = stage.client(&["-L", "0:127.0.0.1:1", "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut said = String::new();
    while !said.contains("connected to") {
        let mut some = [0; 512];
        let read = out.read(&mut some).unwrap();
        said += &text(&some[..read]);
    }
    let events = json_lines(said.trim_end());
    assert_eq!(events[0]["event"], "listening");
    assert!(events[0]["port"].as_u64().unwrap() > 0);
    assert_eq!(events[1]["event"], "connected");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_refused_connection_is_reset_here() {
    let stage = Stage::new();
    let _server = stage.serve(&[]);
    let client: Running = stage.forward(&["-L", "0:127.0.0.1:1"]);
    let mut stream = connect(client.port());
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}
