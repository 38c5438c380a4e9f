//! `polypath forward` and `polypath serve` as processes on one machine, with programs of others
//! where they are there.

mod carries;
mod joins;
mod refuses;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::Value;

/// What hangs fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Folders of both ends, with their keys.
struct Stage {
    folder: tempfile::TempDir,
    key: String,
    at: String,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Stage {
    /// With a free port at two addresses of this host, most likely.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut stage = Self { folder, key: String::new(), at: String::new() };
        stage.key = stage.id("server");
        std::fs::write(stage.path("clients"), stage.id("client")).unwrap();
        let free = UdpSocket::bind("127.0.0.31:0").unwrap().local_addr().unwrap().port();
        stage.at = format!("127.0.0.31:{free},127.0.0.32:{free}");
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, end: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("polypath"));
        command.env("POLYPATH_HOME", self.path(end)).current_dir(self.folder.path());
        command
    }

    fn id(&self, end: &str) -> String {
        let output = self.command(end).args(["id", "-q"]).output().unwrap();
        text(&output.stdout).trim().to_owned()
    }

    /// The server, once it serves.
    fn serve(&self, more: &[&str]) -> Running {
        let mut command = self.command("server");
        command.args(["serve", "--listen", &self.at, "--allow", "clients"]).args(more);
        Running::start(command, "serving at ")
    }

    fn client(&self, more: &[&str]) -> Command {
        let mut command = self.command("client");
        command.args(["forward", "--to", &self.at, "--peer", &self.key]).args(more);
        command
    }

    /// A client, once it has an association.
    fn forward(&self, more: &[&str]) -> Running {
        Running::start(self.client(more), "connected to ")
    }

    fn stdio(&self, target: &str, more: &[&str], input: &[u8]) -> Output {
        let mut command = self.client(&["--stdio", target]);
        command.args(more).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }
}

/// A process that is ended with the test.
struct Running {
    child: Child,
    /// Its lines on stderr.
    talk: Receiver<String>,
    /// What it said so far.
    said: String,
}

impl Running {
    /// Starts a command and waits for a line that begins so.
    fn start(mut command: Command, ready: &str) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (tell, talk) = std::sync::mpsc::channel();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        start(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                let _nobody_listens = tell.send(core::mem::take(&mut line));
            }
        });
        let mut running = Self { child, talk, said: String::new() };
        running.wait_for(ready);
        running
    }

    /// Waits for a line that begins so.
    fn wait_for(&mut self, begin: &str) -> String {
        loop {
            let line = self.talk.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|why| panic!("no {begin:?}: {why}: {}", self.said));
            self.said += &line;
            if line.starts_with(begin) {
                return line.trim_end().to_owned();
            }
        }
    }

    /// The port that it said it listens at.
    fn port(&self) -> u16 {
        let line = self.said.lines().find(|line| line.starts_with("listening at 127.0.0.1:"));
        let rest = line.unwrap().strip_prefix("listening at 127.0.0.1:").unwrap();
        rest.split(' ').next().unwrap().parse().unwrap()
    }

    /// How it ended, by itself.
    fn end(&mut self) -> Option<i32> {
        loop {
            match self.talk.recv_timeout(PATIENCE) {
                Ok(line) => self.said += &line,
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap().code(),
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {}", self.said),
            }
        }
    }

    fn kill(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs work beside the test.
fn start(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().spawn(work).expect("a thread starts");
}

/// A server that sends each byte back; its port.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    start(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            start(move || {
                let mut reader = stream.try_clone().unwrap();
                let _ended = std::io::copy(&mut reader, &mut stream);
                let _ended = stream.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    port
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether bytes come back.
fn echoes(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    let mut back = vec![0; bytes.len()];
    stream.write_all(bytes).is_ok() && stream.read_exact(&mut back).is_ok() && back == bytes
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(name).exists())
}
