//! The server under attack: a process of its own, `polypath-hostile victim`.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use polypath_emu::Namespace;

use crate::field::Field;
use crate::honest;
use crate::kind::Kind;
use crate::meter::Usage;

/// A running victim; it ends with this.
#[derive(Debug)]
pub struct Victim {
    process: Child,
    kind: Kind,
}

impl Victim {
    /// Starts a server of this kind in the victim's namespace, ready to be connected to.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(field: &Field, kind: Kind) -> Self {
        Self::start_with(&field.victim, kind, &[])
    }

    /// A server of protected associations, SCTP in UDP over IPv4, on both wires: `how` says whom it
    /// lets in.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_protected(field: &Field, how: &str) -> Self {
        let [first, second] = Field::two_paths().0;
        Self::start_at(&field.victim, Kind::COMMON, &format!("{first},{second}"), &[how])
    }

    /// The same with further arguments, in any namespace.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_with(host: &Namespace, kind: Kind, arguments: &[&str]) -> Self {
        Self::start_at(host, kind, &kind.victim().ip().to_string(), arguments)
    }

    /// The same at other addresses, divided by commas.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_at(host: &Namespace, kind: Kind, at: &str, arguments: &[&str]) -> Self {
        let how = if kind.udp { "udp" } else { "raw" };
        let mut command = Command::new(find_program());
        command.args(["victim", how, at]).args(arguments);
        // It ends when its input does, whatever becomes of this process.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = host.spawn(&mut command).expect("the victim starts");
        let mut ready = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut ready).expect("the victim speaks");
        assert_eq!(ready, "ready\n", "the victim says that it listens");
        Self { process, kind }
    }

    /// What it uses.
    pub fn usage(&self) -> Usage {
        Usage::of_process(self.process.id())
    }

    /// How many of `count` set-ups of the honest client are answered at once: before a lost packet
    /// would be sent again.
    pub fn honest_set_ups(&self, field: &Field, count: usize) -> usize {
        honest::set_ups(&field.client, self.kind, count)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended by itself; then the test says why.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `polypath-hostile` lies one folder above the tests, or is this program.
fn find_program() -> PathBuf {
    let own = std::env::current_exe().expect("the path of this program");
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("polypath-hostile")).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("polypath-hostile is not beside {}", own.display()))
}
