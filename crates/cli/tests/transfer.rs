//! `polypath send` and `polypath receive` as two processes on one machine.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

fn polypath() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin("polypath"))
}

/// A receiver that listens.
struct Receiver {
    child: Child,
    talk: BufReader<std::process::ChildStderr>,
    /// HOST:PORT,HOST:PORT
    at: String,
}

impl Receiver {
    fn start(addresses: &[&str], dir: &Path, more: &[&str]) -> Self {
        // A port that is free at both addresses, most likely.
        let free = std::net::UdpSocket::bind((addresses[0], 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let at: Vec<_> = addresses.iter().map(|address| format!("{address}:{port}")).collect();
        let mut command = polypath();
        command.arg("receive").arg("--dir").arg(dir).args(more);
        for at in &at {
            command.args(["--listen", at]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("It is not encrypted") {
            line.clear();
            assert!(talk.read_line(&mut line).unwrap() > 0, "the receiver ended");
        }
        Self { child, talk, at: at.join(",") }
    }

    /// How it ended, and what it printed.
    fn end(mut self) -> (ExitStatus, String, String) {
        let (mut out, mut talk) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.talk.read_to_string(&mut talk).unwrap();
        (self.child.wait().unwrap(), out, talk)
    }
}

fn send(files: &[&Path], to: &str, more: &[&str]) -> Output {
    polypath().arg("send").args(files).args(["--to", to]).args(more).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn file(dir: &Path, name: &str, len: usize) -> std::path::PathBuf {
    let path = dir.join(name);
    let content: Vec<u8> = (0..len).map(|i| (i * 7 + i / 255) as u8).collect();
    fs::write(&path, content).unwrap();
    path
}

/// The only line that a failed command prints.
fn refusal(output: &Output, code: i32) -> String {
    let talk = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{talk}");
    assert_eq!(text(&output.stdout), "");
    let lines: Vec<_> = talk.lines().filter(|line| !line.starts_with("warning: ")).collect();
    assert_eq!(lines.len(), 1, "{talk}");
    lines[0].to_owned()
}

#[test]
fn a_folder_goes_over_two_paths() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(from.path().join("set")).unwrap();
    let large = file(&from.path().join("set"), "large", 5_000_000);
    file(&from.path().join("set"), "none", 0);
    let capture = to.path().join("run.pcapng");
    let into = to.path().join("in");
    let receiver = Receiver::start(&["127.0.1.1", "127.0.1.2"], &into, &["--once", "--json"]);
    let more = ["--local", "127.0.1.3,127.0.1.4", "--pcap", capture.to_str().unwrap()];
    let sent = send(&[&from.path().join("set")], &receiver.at, &more);
    let line = text(&sent.stdout);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(line.starts_with("sent 2 files, 5.0 MB in "), "{line}");
    assert!(
        line.contains("127.0.1.3 - 127.0.1.1") && line.contains("127.0.1.4 - 127.0.1.2"),
        "{line}"
    );
    let (status, out, talk) = receiver.end();
    assert!(status.success(), "{talk}");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["ok"], &json["stored"], &json["folders"]),
        (&true.into(), &2.into(), &1.into())
    );
    assert_eq!(json["travelled_bytes"], 5_000_000);
    assert_eq!(json["paths"].as_array().unwrap().len(), 2);
    let carried: u64 = json["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["payload_bytes"].as_u64().unwrap())
        .sum();
    assert!(carried >= 5_000_000, "{json}");
    assert_eq!(fs::read(into.join("set/large")).unwrap(), fs::read(large).unwrap());
    assert_eq!(fs::read(into.join("set/none")).unwrap(), b"");
    // The section header of pcapng.
    assert_eq!(fs::read(capture).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
}

#[test]
fn a_receiver_goes_on_and_an_existing_file_is_safe() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 100_000);
    let receiver = Receiver::start(&["127.0.1.5"], to.path(), &[]);
    assert!(send(&[&path], &receiver.at, &[]).status.success());
    let again = send(&[&path], &receiver.at, &["--json"]);
    let json: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&json["already_there"], &json["travelled_bytes"]), (&1.into(), &0.into()));
    assert!(text(&again.stderr).contains("f: already there"));
    fs::write(&path, "changed").unwrap();
    let other = send(&[&path], &receiver.at, &["--quiet"]);
    assert_eq!(other.status.code(), Some(4));
    assert!(text(&other.stderr).contains("not transferred: f: another file of this name is there"));
    assert_eq!(fs::metadata(to.path().join("f")).unwrap().len(), 100_000);
    kill(Pid::from_raw(receiver.child.id() as i32), Signal::SIGINT).unwrap();
    let (status, out, _) = receiver.end();
    assert_eq!(status.code(), Some(130));
    assert!(out.starts_with("received 1 file, 100.0 kB in "), "{out}");
}

#[test]
fn an_interrupted_transfer_is_told_and_goes_on_later() {
    for at_sender in [true, false] {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = file(from.path(), "f", 60_000_000);
        // Small buffers make it slow enough to be hit.
        let slow = ["--once", "--buffer", "32KiB"];
        let receiver = Receiver::start(&["127.0.1.6"], to.path(), &slow);
        let mut sender = polypath();
        sender.arg("send").arg(&path).args(["--to", &receiver.at]);
        let sender = sender.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let part = to.path().join(".f.polypath-part");
        while !fs::metadata(&part).is_ok_and(|about| about.len() > 2_000_000) {
            std::thread::yield_now();
            assert!(!to.path().join("f").exists(), "too fast to be interrupted");
        }
        let victim = if at_sender { sender.id() } else { receiver.child.id() };
        kill(Pid::from_raw(victim as i32), Signal::SIGINT).unwrap();
        let sent = sender.wait_with_output().unwrap();
        let (received, _, talk) = receiver.end();
        let codes = (sent.status.code(), received.code());
        let expected = if at_sender { (130, 1) } else { (1, 130) };
        let all = format!("{} {talk}", text(&sent.stderr));
        assert_eq!(codes, (Some(expected.0), Some(expected.1)), "{all}");
        assert!(all.contains("broke the transfer off") && all.contains("interrupted"), "{all}");
        assert!(part.exists() && !to.path().join("f").exists());
        let receiver = Receiver::start(&["127.0.1.6"], to.path(), &["--once"]);
        let again = send(&[&path], &receiver.at, &[]);
        let line = text(&again.stdout);
        assert!(again.status.success() && line.contains("from an earlier attempt"), "{line}");
        assert!(receiver.end().0.success());
        assert!(fs::read(to.path().join("f")).unwrap() == fs::read(&path).unwrap());
    }
}

#[test]
fn wrong_arguments_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "f", 10);
    let line = refusal(&polypath().arg("receive").output().unwrap(), 2);
    assert!(
        line.contains("--listen ADDRESS is missing") && line.contains("127.0.0.1 (lo)"),
        "{line}"
    );
    let receive = |more: &[&str]| polypath().arg("receive").args(more).output().unwrap();
    assert!(refusal(&receive(&["--listen", "192.0.2.77"]), 2).contains("192.0.2.77"));
    assert!(refusal(&receive(&["--listen", "0.0.0.0"]), 2).contains("unicast"));
    let not_a_folder = ["--listen", "127.0.1.7", "--dir", path.to_str().unwrap()];
    assert!(refusal(&receive(&not_a_folder), 5).contains("/f: "));
    let line = refusal(&send(&[Path::new("/nowhere/x")], "127.0.1.7", &[]), 5);
    assert!(line.contains("/nowhere/x: no such file or directory"), "{line}");
    assert!(refusal(&send(&[&path], "127.0.1.7:x", &[]), 2).contains("127.0.1.7:x"));
    assert!(refusal(&send(&[&path], "127.0.1.7", &["--paths", "nosuch0"]), 2).contains("nosuch0"));
}

#[test]
fn nobody_there_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "f", 10);
    let free = std::net::UdpSocket::bind("127.0.1.8:0").unwrap();
    let at = free.local_addr().unwrap().to_string();
    // Bound and never read: no answer.
    let line = refusal(&send(&[&path], &at, &["--connect-timeout", "300ms"]), 3);
    assert!(line.contains("no answer from") && line.contains("300ms"), "{line}");
    drop(free);
    let line = refusal(&send(&[&path], &at, &[]), 3);
    assert!(line.contains("refused"), "{line}");
}

#[test]
fn a_taken_port_is_said() {
    let taken = std::net::UdpSocket::bind("127.0.1.9:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let line = refusal(&polypath().args(["receive", "--listen", &at]).output().unwrap(), 5);
    assert!(line.contains("is in use"), "{line}");
}

#[test]
fn a_sender_that_vanishes_is_noticed() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 60_000_000);
    let slow = ["--once", "--buffer", "32KiB", "--timeout", "2s"];
    let receiver = Receiver::start(&["127.0.1.10"], to.path(), &slow);
    let mut sender = polypath();
    sender.arg("send").arg(&path).args(["--to", &receiver.at]);
    let mut sender = sender.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let part = to.path().join(".f.polypath-part");
    while !fs::metadata(&part).is_ok_and(|about| about.len() > 1_000_000) {
        std::thread::yield_now();
    }
    sender.kill().unwrap();
    sender.wait().unwrap();
    let (status, _, talk) = receiver.end();
    assert_eq!(status.code(), Some(3), "{talk}");
    // This host says at once that nobody is at the port any more (ICMP); silence would tell after two seconds.
    let told = talk.contains("cannot be reached any more") || talk.contains("silent for 2 s");
    assert!(told && talk.contains("kept for the next attempt"), "{talk}");
}
