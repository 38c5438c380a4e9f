//! The server under attack: a process of its own, `hostile-victim`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use polypath_emu::Namespace;

use crate::field::{Field, Kind};
use crate::honest;
use crate::meter::Usage;

/// The victim's SCTP port.
pub const PORT: u16 = 5000;

/// What the victim answers to a message: proof that it arrived whole.
pub fn answer_to(message: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    message.hash(&mut hasher);
    hasher.finish().to_be_bytes()
}

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
        let mut command = Command::new(program());
        command.args([how, at]).args(arguments);
        // It ends when its input does, whatever becomes of this process.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = host.spawn(&mut command).expect("hostile-victim starts");
        let mut ready = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut ready).expect("hostile-victim speaks");
        assert_eq!(ready, "ready\n", "hostile-victim says that it listens");
        Self { process, kind }
    }

    /// What it uses.
    pub fn usage(&self) -> Usage {
        Usage::of(self.process.id())
    }

    /// How many of `count` set-ups of the honest client are answered at once: before a lost packet would be sent again.
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

/// The program lies beside tests (in `deps`) and examples, one folder above.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("the path of this program");
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("hostile-victim")).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        let build = "cargo build -p polypath-hostile";
        panic!("hostile-victim is not beside {}: {build}", Path::new(&own).display())
    })
}
