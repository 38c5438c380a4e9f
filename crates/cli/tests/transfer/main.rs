//! `polypath send` and `polypath receive` as two processes on one machine.

mod breaks;
mod choices;
mod strangers;
mod whole;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

fn polypath() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("polypath"));
    // Not the identity of whoever runs this.
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command.env("POLYPATH_HOME", KEYS);
    command
}

/// Where the key is that both ends have here.
const KEYS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/keys");

fn key() -> &'static str {
    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| text(&polypath().arg("id").output().unwrap().stdout).trim().to_owned())
}

/// A sender that knows whom it sends to.
fn sender(to: &str) -> Command {
    let mut command = polypath();
    command.args(["send", "--to", to, "--peer", key()]);
    command
}

/// The unfinished file, if there is one.
fn part(dir: &Path) -> Option<std::path::PathBuf> {
    let mut paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.to_string_lossy().ends_with(".polypath-part"))
}

/// Waits until so many bytes have come of a file that is not whole yet.
fn wait_for_part(dir: &Path, bytes: u64) {
    let len = || part(dir).and_then(|part| Some(fs::metadata(part).ok()?.len()));
    while len().is_none_or(|len| len < bytes) {
        std::thread::yield_now();
        assert!(!dir.join("f").exists(), "too fast to be interrupted");
    }
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
        Self::start_by(polypath(), addresses, dir, more)
    }

    fn start_by(mut command: Command, addresses: &[&str], dir: &Path, more: &[&str]) -> Self {
        // A port that is free at both addresses, most likely.
        let free = std::net::UdpSocket::bind((addresses[0], 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let at: Vec<_> = addresses.iter().map(|address| format!("{address}:{port}")).collect();
        command.arg("receive").args(more);
        if !dir.as_os_str().is_empty() {
            command.arg("--dir").arg(dir);
        }
        for at in &at {
            command.args(["--listen", at]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("receiving at ") {
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
    sender(to).args(files).args(more).output().unwrap()
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
