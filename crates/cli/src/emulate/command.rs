//! The programs that run in the hosts.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for programs")]

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use polypath_emu::{Emulation, Host};

use crate::failure::Failure;
use crate::interrupt;

/// What the server's program has to open its ports.
const HEAD_START: Duration = Duration::from_millis(300);
/// What the server's program has to end by itself once the main program has: what serves once is
/// about to.
const PARTING: Duration = Duration::from_millis(500);
/// What a program has to end after Ctrl-C or a request to end, before it is made to.
const GRACE: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(20);
/// As shells report a program that does not exist.
const NOT_FOUND: u8 = 127;

pub(crate) struct Programs<'a> {
    emulation: &'a Emulation,
    beside: Option<Child>,
}

impl<'a> Programs<'a> {
    pub(crate) fn new(emulation: &'a Emulation) -> Self {
        Self { emulation, beside: None }
    }

    /// Starts a shell command that goes on until the main program has ended.
    pub(crate) fn start_background_command(
        &mut self,
        host: Host,
        line: &str,
    ) -> Result<(), Failure> {
        let mut shell = Command::new("/bin/sh");
        // A group of its own: what ends the shell has to reach what the shell runs, too.
        shell.args(["-c", line]).stdin(Stdio::null()).process_group(0);
        self.beside = Some(self.spawn_on_host(host, &mut shell)?);
        sleep(HEAD_START);
        Ok(())
    }

    /// Runs a program to its end and returns its exit code, as a shell would.
    pub(crate) fn run_program(
        &mut self,
        host: Host,
        program: &OsString,
        arguments: &[OsString],
    ) -> Result<u8, Failure> {
        let child = self.spawn_on_host(host, Command::new(program).args(arguments))?;
        let status = wait_for_exit(child).map_err(Failure::run_failed)?;
        Ok(exit_code(status))
    }

    fn spawn_on_host(&self, host: Host, command: &mut Command) -> Result<Child, Failure> {
        for host in [Host::Client, Host::Server] {
            let name = host.name().to_uppercase();
            let addresses = self.emulation.addresses(host);
            let list: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            command.env(format!("POLYPATH_{name}_ADDRS"), list.join(","));
            command.env(format!("POLYPATH_{name}_NS"), self.emulation.namespace(host).path());
        }
        let name = command.get_program().to_string_lossy().into_owned();
        self.emulation.namespace(host).spawn(command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::with_code(NOT_FOUND, format!("{name}: {error}")),
            _ => Failure::run_failed(format!("{name}: {error}")),
        })
    }
}

impl Drop for Programs<'_> {
    fn drop(&mut self) {
        if let Some(mut shell) = self.beside.take()
            && wait_for(&mut shell, PARTING).is_none()
        {
            terminate_group(&mut shell);
        }
    }
}

/// Waits for Ctrl-C.
pub(crate) fn wait_for_interrupt() {
    while !interrupt::was_interrupted() {
        sleep(GLANCE);
    }
}

/// Ctrl-C at a terminal reaches the program, too: it has some time to end in its own way.
fn wait_for_exit(mut child: Child) -> io::Result<ExitStatus> {
    while !interrupt::was_interrupted() {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        sleep(GLANCE);
    }
    if let Some(status) = wait_for(&mut child, GRACE) {
        return Ok(status);
    }
    terminate_child(&mut child);
    child.wait()
}

/// Asks a program to end, and makes it if it does not.
fn terminate_child(child: &mut Child) {
    let pid = i32::try_from(child.id()).map(Pid::from_raw);
    let _ = pid.map(|pid| kill(pid, Signal::SIGTERM));
    if wait_for(child, GRACE).is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The same for a shell and all that it runs.
fn terminate_group(shell: &mut Child) {
    let Ok(group) = i32::try_from(shell.id()).map(Pid::from_raw) else { return };
    let _ = killpg(group, Signal::SIGTERM);
    let begin = Instant::now();
    // The shell is waited for first, or it would stay a member.
    while (wait_for(shell, GLANCE).is_none() || killpg(group, None).is_ok())
        && begin.elapsed() < GRACE
    {
        sleep(GLANCE);
    }
    let _ = killpg(group, Signal::SIGKILL);
    let _ = shell.wait();
}

fn wait_for(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        sleep(GLANCE);
    }
    None
}

fn exit_code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map_or(1, |signal| 128 + signal);
    u8::try_from(status.code().unwrap_or_else(signal)).unwrap_or(1)
}
