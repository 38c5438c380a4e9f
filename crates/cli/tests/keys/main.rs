//! Who is who in `send`, `receive` and `perf`, as processes on one machine, each with a key of its
//! own.

mod enrolment;
mod files;
mod known;
mod let_in;
mod plain;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use nix::pty::openpty;
use tempfile::TempDir;

/// A host: its keys, what it sends, and what it received.
struct Host(TempDir);

impl Host {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        fs::write(host.path("letter.txt"), "dear friend, this is no secret of ours").unwrap();
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("polypath"));
        command.current_dir(self.0.path()).args(line.split(' ')).env_remove("SSLKEYLOGFILE");
        command.env("XDG_STATE_HOME", self.path("state"));
        command.env("POLYPATH_HOME", self.path("keys"));
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).stdin(Stdio::null()).output().unwrap()
    }

    /// What it prints when all is well.
    fn done(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The only line that a failed command prints.
    fn refused(&self, line: &str, code: i32) -> String {
        let output = self.run(line);
        let talk = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {talk}");
        assert_eq!(text(&output.stdout), "", "{line}");
        let lines: Vec<_> = talk.lines().filter(|line| !line.starts_with("warning: ")).collect();
        assert_eq!(lines.len(), 1, "{line}: {talk}");
        lines[0].to_owned()
    }

    fn key(&self) -> String {
        self.done("id -q").trim().to_owned()
    }

    /// What a terminal shows of the command when somebody types `answer`, and how it ends.
    fn asked(&self, line: &str, answer: &str) -> (String, Option<i32>) {
        let pty = openpty(None, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = self.command(line);
        let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        drop((command, pty.slave));
        let mut master = File::from(pty.master);
        // The line waits in the terminal until it is read.
        writeln!(master, "{answer}").unwrap();
        let mut shown = Vec::new();
        // Linux answers with an error where others report the end.
        let _ = master.read_to_end(&mut shown);
        (text(&shown), child.wait().unwrap().code())
    }

    fn send(&self, to: &Server, more: &str) -> Output {
        self.run(format!("send letter.txt --quiet --to {} {more}", to.at).trim_end())
    }

    fn known_peers(&self) -> String {
        fs::read_to_string(self.path("keys/known-peers")).unwrap_or_default()
    }
}

/// A `receive` or `perf -s` that listens.
struct Server {
    child: Child,
    talk: BufReader<ChildStderr>,
    /// HOST:PORT
    at: String,
    /// What it has said until it listened.
    said: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts it at a port that is free, and waits until it says a line that begins with `words`.
    fn start_until(host: &Host, line: &str, words: &str) -> Self {
        let free = std::net::UdpSocket::bind("127.0.4.1:0").unwrap();
        let at = free.local_addr().unwrap().to_string();
        drop(free);
        let mut command = host.command(&format!("{line} --listen {at}"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let talk = BufReader::new(child.stderr.take().unwrap());
        let mut server = Self { child, talk, at, said: String::new() };
        server.hear(words);
        server
    }

    fn receive(host: &Host, more: &str) -> Self {
        Self::start_until(host, format!("receive --dir in {more}").trim_end(), "receiving at ")
    }

    /// Waits for a line that has these words, and gives it.
    fn hear(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.talk.read_line(&mut line).unwrap();
            self.said += &line;
            assert!(read > 0, "it ended: {}", self.said);
            if line.contains(words) {
                return line.trim().to_owned();
            }
        }
    }

    /// All that it says until its end, by itself.
    fn end(&mut self) -> (Option<i32>, String) {
        let _ = self.talk.read_to_string(&mut self.said);
        (self.child.wait().unwrap().code(), self.said.clone())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn has(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

fn received(host: &Host) -> bool {
    host.path("in/letter.txt").exists()
}

/// Tries until it is so, for some seconds.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    (0..60).any(|_| {
        let so = is_so();
        if !so {
            std::thread::sleep(Duration::from_millis(100));
        }
        so
    })
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
}
