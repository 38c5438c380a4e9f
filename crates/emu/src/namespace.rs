//! Network namespaces without names: they and all devices in them vanish with the last process or
//! file descriptor that holds them, however that ends.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};

use crate::error::Error;

/// A network namespace. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
    inode: u64,
}

impl Namespace {
    /// A new one, with nothing in it but a loopback device that is down.
    ///
    /// # Errors
    /// [`Error::NotRoot`] without the right to do so.
    pub fn new() -> Result<Self, Error> {
        let make = || -> Result<File, Error> {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
                Errno::EPERM => Error::NotRoot,
                errno => Error::system_error("new network namespace")(errno),
            })?;
            open_current().map_err(Error::system_error("/proc/thread-self/ns/net"))
        };
        let file = on_a_thread(make)?;
        let inode = file.metadata().map_err(Error::system_error("network namespace"))?.ino();
        Ok(Self { file: Arc::new(file), inode })
    }

    /// Moves the calling thread into the namespace. Sockets that it opens from now on belong there,
    /// and threads and processes that it starts begin there.
    ///
    /// # Errors
    /// Without the right to do so, as after dropping privileges.
    pub fn enter(&self) -> io::Result<()> {
        setns(&*self.file, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
    }

    /// Runs `work` inside the namespace, on a thread of its own, and waits for it. Sockets that it
    /// returns stay in the namespace and work everywhere.
    ///
    /// # Errors
    /// As [`Self::enter`].
    ///
    /// # Panics
    /// When `work` does.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_a_thread(|| self.enter().map(|()| work()))
    }

    /// Starts a process inside the namespace. What is left of it, and of all that it starts, when
    /// the [`crate::Emulation`] ends is killed.
    ///
    /// # Errors
    /// As [`Self::enter`] and [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.run(|| command.spawn())?
    }

    /// Where other processes of this user find the namespace while this one lives:
    /// `nsenter --net=PATH COMMAND`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// The number by which the kernel knows it, as in `net:[4026531840]`.
    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    /// Runs `ip` inside, with one command per line.
    ///
    /// # Errors
    /// [`Error::Missing`] without that program, [`Error::System`] when it refuses a command.
    pub fn run_ip_commands(&self, script: &str) -> Result<(), Error> {
        self.run_ip(&[], script)
    }

    /// The same for one address family, `-4` or `-6`.
    pub(crate) fn ip_of(&self, family: &str, script: &str) -> Result<(), Error> {
        self.run_ip(&[family], script)
    }

    fn run_ip(&self, options: &[&str], script: &str) -> Result<(), Error> {
        if script.is_empty() {
            return Ok(());
        }
        let mut ip = Command::new("ip");
        ip.args(options).args(["-batch", "-"]);
        ip.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = self.spawn(&mut ip).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Missing { command: "ip", package: "iproute2" },
            _ => Error::system_error("ip")(error),
        })?;
        // A broken pipe shows in the exit status.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(script.as_bytes()));
        let output = child.wait_with_output().map_err(Error::system_error("ip"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(refused_line(script, &String::from_utf8_lossy(&output.stderr)))
    }
}

/// What `ip` says of a script ends with "Command failed -:N", N being the line.
fn refused_line(script: &str, said: &str) -> Error {
    let number = said.trim_end().rsplit(':').next().and_then(|n| n.parse::<usize>().ok());
    let line = number.and_then(|n| script.lines().nth(n.checked_sub(1)?)).unwrap_or_default();
    let cause = said.lines().next().unwrap_or_default().to_owned();
    Error::System { what: format!("ip {line}"), cause }
}

fn open_current() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Runs `work` on a thread of its own: a thread's namespace is its own matter.
fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let result = thread::scope(|scope| scope.spawn(work).join());
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
