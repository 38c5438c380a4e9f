//! A folder to work in, and commands in it: piped, or on a terminal.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};
use tempfile::TempDir;

/// A scenario whose runs take milliseconds, with the profile whose results stay.
pub(crate) const TINY: &str = r#"
title = "Tiny"
[stack]
profile = "paper"
[path.A]
rate = "2Mbit/s"
delay = "10ms"
[path.B]
rate = "2Mbit/s"
delay = "20ms"
loss = "1%"
[[flow]]
app = "saturated"
[time]
settle = "1s"
measure = "3s"
sample = "500ms"
[seeds]
count = 4
"#;

/// An experiment with that scenario: a claim that holds, one that cannot, a figure.
const EXPERIMENT: &str = r#"
[[sweep]]
name = "loss"
set = ["path.B.loss"]
values = ["0%", "2%"]

[experiment]
id = "T-one"
title = "A small experiment"
source = "none"
question = "Do losses harm?"
quick = { seeds = 2 }

[[claim]]
id = "T-one-c1"
kind = "Q"
says = "One path is not enough for this."
test = { of = { metric = "goodput", where = { loss = "0%" } }, at-least = "2Mbit/s" }

[[claim]]
id = "T-one-c2"
kind = "Q"
says = "Two paths carry more than both links."
test = { of = { metric = "goodput", where = { loss = "0%" } }, above = "4Mbit/s" }
explain = "Nothing can."

[[figure]]
name = "goodput"
title = "Goodput over loss"
x = "loss"
y = { metric = "goodput" }
"#;

/// Variables that change what a terminal is shown.
const VARIABLES: [&str; 5] = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"];

/// An empty folder, but for a scenario and a file without text.
pub(crate) struct Stage {
    folder: TempDir,
}

/// What a command printed where, and how it ended.
pub(crate) struct Printed {
    pub(crate) out: String,
    pub(crate) talk: String,
    pub(crate) code: Option<i32>,
}

/// A terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    pub(crate) columns: u16,
    pub(crate) variable: Option<&'static str>,
}

pub(crate) const NARROW: Terminal = Terminal { columns: 80, variable: None };
pub(crate) const WIDE: Terminal = Terminal { columns: 120, variable: None };
pub(crate) const COLOURLESS: Terminal = Terminal { columns: 80, variable: Some("NO_COLOR") };
pub(crate) const COLOURED: Terminal = Terminal { columns: 80, variable: Some("CLICOLOR_FORCE") };

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap() };
        stage.write("tiny.toml", TINY);
        fs::create_dir(stage.path("papers")).unwrap();
        stage.write("papers/one.toml", &format!("{TINY}{EXPERIMENT}"));
        let noise: Vec<u8> =
            (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(stage.path("noise.bin"), noise).unwrap();
        stage
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
        command.current_dir(self.folder.path()).args(line.split(' '));
        VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.env("TERM", "xterm-256color").env("XDG_STATE_HOME", self.path("state"));
        command.env("POLYPATH_HOME", self.path("keys"));
        command
    }

    pub(crate) fn piped(&self, line: &str) -> Printed {
        let output = self.command(line).output().unwrap();
        Printed {
            out: String::from_utf8(output.stdout).unwrap(),
            talk: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
        }
    }

    /// What it prints when all is well.
    pub(crate) fn done(&self, line: &str) -> String {
        let printed = self.piped(line);
        assert_eq!(printed.code, Some(0), "{line}: {}", printed.talk);
        printed.out
    }

    /// What a terminal got, with the escape sequences: all in the order in which it came.
    pub(crate) fn shown(&self, line: &str, terminal: Terminal) -> String {
        let size = Winsize { ws_row: 50, ws_col: terminal.columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let mut command = self.command(line);
        terminal.variable.iter().for_each(|name| {
            command.env(name, "1");
        });
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        // Only the child holds it now: reading ends when the child does.
        drop((command, pty.slave));
        let mut bytes = Vec::new();
        // Linux answers with an error where others report the end.
        let _ = File::from(pty.master).read_to_end(&mut bytes);
        child.wait().unwrap();
        String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
    }

    /// What stays on it: bars come and go.
    pub(crate) fn left(&self, line: &str, terminal: Terminal) -> String {
        let shown = self.shown(line, terminal);
        let stays = |line: &'_ str| line.rsplit("\r\u{1b}[2K").next().unwrap().to_owned();
        shown.split_inclusive('\n').map(stays).collect()
    }
}

/// Holds what a command printed against the snapshot of this name.
pub(crate) fn compare(name: &str, line: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(format!("polypath {line}"));
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// The text without colours.
pub(crate) fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}
