//! What is left in the namespaces is killed when the emulation ends, and when its process does.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::Error;
use crate::namespace::Namespace;

/// Waits until its input ends, as it does whatever becomes of the process at the other end of the
/// pipe, and kills all that is in the namespaces that its arguments name. Twice: a process may have
/// started another one in between.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r _
for round in 1 2; do
    for link in /proc/[0-9]*/ns/net; do
        ns=$(readlink "$link" 2>/dev/null) || continue
        pid=${link#/proc/}
        for mine; do
            [ "$ns" = "$mine" ] && kill -9 "${pid%%/*}" 2>/dev/null
        done
    done
done
"#;

/// A shell that outlives this process just long enough. Where the process ends in an orderly way it
/// does the work itself, and the shell is not needed.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    namespaces: Vec<String>,
}

impl Guard {
    pub(crate) fn new(namespaces: &[&Namespace]) -> Result<Self, Error> {
        let name = |namespace: &&Namespace| format!("net:[{}]", namespace.inode());
        let namespaces: Vec<_> = namespaces.iter().map(name).collect();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "polypath-guard"]).args(&namespaces);
        // A group of its own: Ctrl-C is not meant for it.
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let shell = shell.spawn().map_err(Error::system_error("/bin/sh"))?;
        Ok(Self { shell, namespaces })
    }

    /// Kills what is in the namespaces, this process excepted.
    fn kill_processes(&self) {
        let own = std::process::id().to_string();
        for _ in 0..2 {
            let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
            let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
            for pid in names.filter(|name| *name != own) {
                // What has ended meanwhile is no concern.
                let inside = fs::read_link(format!("/proc/{pid}/ns/net"));
                if inside.is_ok_and(|ns| {
                    self.namespaces.iter().any(|own| ns.as_os_str() == own.as_str())
                }) {
                    let _ = pid.parse().map(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL));
                }
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.kill_processes();
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
