//! `polypath top` on a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;

use crate::Field;

/// A terminal as a person sees it.
struct Terminal {
    typed: File,
    shown: std::sync::mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    child: Child,
    /// How it was before.
    modes: Termios,
}

impl Terminal {
    fn new(field: &Field, line: &str, columns: u16, rows: u16) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let end = || File::from(pty.slave.try_clone().unwrap());
        let mut command = field.command(line);
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm");
        let mut master = File::from(pty.master);
        let typed = master.try_clone().unwrap();
        let modes = tcgetattr(&typed).unwrap();
        let child = command.spawn().unwrap();
        drop(command);
        let (told, shown) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read) = master.read(&mut piece) {
                if read == 0 || told.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { typed, shown, screen: vt100::Parser::new(rows, columns, 0), child, modes }
    }

    fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Until the screen is as wanted.
    fn await_screen(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        while !wanted(&self.contents()) {
            assert!(Instant::now() < until, "{}", self.contents());
            if let Ok(piece) = self.shown.recv_timeout(Duration::from_millis(100)) {
                self.screen.process(&piece);
            }
        }
        self.contents()
    }

    fn press(&mut self, keys: &str) {
        self.typed.write_all(keys.as_bytes()).unwrap();
    }

    fn quit(mut self) {
        self.press("q");
        assert!(self.child.wait().unwrap().success());
        self.assert_restored();
    }

    fn signal(mut self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(128 + signal as i32));
        self.assert_restored();
    }

    /// It is left as it was.
    fn assert_restored(&mut self) {
        while let Ok(piece) = self.shown.recv_timeout(Duration::from_secs(2)) {
            self.screen.process(&piece);
        }
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        assert_eq!(tcgetattr(&self.typed).unwrap(), self.modes);
    }
}

#[test]
fn paths_are_shown_and_switched_by_keys() {
    let field = Field::new(4);
    let mut top = Terminal::new(&field, "top to", 80, 24);
    let (first, second) = (field.path(11), field.path(12));
    let text = top.await_screen(|text| text.contains(&second) && text.contains("Mbit/s"));
    for word in ["perf to 127.63.4.1", "association 1, 1 of 1", "NOT encrypted", "EVENTS", "q quit"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.lines().any(|line| line.starts_with(&first) && line.contains("active")), "{text}");
    top.press("x");
    top.await_screen(|text| text.contains("choose a path first"));
    // The second, and off.
    top.press("\u{1b}[B\u{1b}[Bx");
    let is_off = |text: &str| {
        text.lines().any(|line| line.starts_with(&second) && line.contains(" off "))
            && text.contains("switched off")
    };
    top.await_screen(is_off);
    top.press("s");
    top.await_screen(|text| text.contains("(by rate)"));
    top.quit();
    assert!(field.done("ss to").contains("off, sent"));
}

#[test]
fn it_ends_where_the_process_ends_and_one_picture_needs_no_terminal() {
    let mut field = Field::new(5);
    let text = field.done("top --once to");
    assert!(text.contains("PATH") && text.contains("lately:"), "{text}");
    let mut top = Terminal::new(&field, "top to", 160, 50);
    let text = top.await_screen(|text| text.contains("LIMITED BY"));
    assert!(text.contains("IN FLIGHT"), "{text}");
    let mut client = field.running.pop().unwrap();
    client.kill().unwrap();
    client.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while top.child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "{}", top.contents());
        std::thread::sleep(Duration::from_millis(50));
    }
    top.assert_restored();
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    let field = Field::new(8);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut top = Terminal::new(&field, "top", 80, 24);
        top.await_screen(|text| text.contains("Mbit/s"));
        top.signal(signal);
    }
    let line =
        format!("perf -c {0}:9963 --local {0} --insecure -t 100 -b 4M --live", field.path(1));
    let mut live = Terminal::new(&field, &line, 80, 24);
    live.await_screen(|text| text.contains("active") && text.contains("Ctrl-C ends"));
    live.signal(Signal::SIGTERM);
}
