//! Running commands seen from outside: `top` on a terminal, `ss`, `control`, and the exporter under
//! bad manners.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "commands are waited for")]

mod exporter;
mod screen;
mod words;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A measurement over two paths of the loopback, and commands beside it.
struct Field {
    folder: TempDir,
    running: Vec<Child>,
    /// The third number of its addresses: tests do not meet.
    net: u8,
}

impl Drop for Field {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ended = child.kill();
            let _ended = child.wait();
        }
    }
}

impl Field {
    fn new(net: u8) -> Self {
        let mut field = Self { folder: tempfile::tempdir().unwrap(), running: Vec::new(), net };
        let at = |host: u8| format!("127.63.{net}.{host}:9963");
        field.start(
            &format!("perf -s --insecure --listen {} --listen {}", at(1), at(2)),
            "listening",
        );
        let local = format!("127.63.{net}.11,127.63.{net}.12");
        let client = format!(
            "perf -c {},{} --local {local} --insecure -t 100 -b 4M --length 1000",
            at(1),
            at(2)
        );
        field.start(&client, "connecting");
        let path = field.path(12);
        let both_carry = |text: &str| text.contains(&path) && !text.contains("RTT not measured");
        field.await_text("ss", both_carry);
        field
    }

    /// The address of the sender that ends so.
    fn path(&self, host: u8) -> String {
        format!("127.63.{}.{host}", self.net)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
        command.args(line.split(' ')).current_dir(self.folder.path());
        command.env("POLYPATH_HOME", self.folder.path().join("home")).stdin(Stdio::null());
        command
    }

    /// Starts a command, and waits until it says `word`.
    fn start(&mut self, line: &str, word: &str) -> String {
        let mut command = self.command(line);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains(word) {
            said.clear();
            assert!(talk.read_line(&mut said).unwrap() > 0, "{line}: ended without {word:?}");
        }
        std::thread::spawn(move || talk.lines().count());
        self.running.push(child);
        said
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn done(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, line: &str) -> (Option<i32>, String) {
        let output = self.run(line);
        assert!(output.stdout.is_empty(), "{line}");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Runs a command until what it prints is as wanted.
    fn await_text(&self, line: &str, wanted: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let text = String::from_utf8(self.run(line).stdout).unwrap();
            if wanted(&text) {
                return text;
            }
            assert!(Instant::now() < until, "{line}: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }
}
