//! Which processes there are to look into.

use std::path::{Path, PathBuf};

use clap::Args;
use polypath_apps::shown;
use polypath_control::message::{Sections, Status};
use polypath_control::{Client, folder};

use super::{UNREACHABLE, ask_failure};
use crate::failure::Failure;
use crate::keys;

/// Which processes are meant.
#[derive(Debug, Args)]
pub(crate) struct ProcessArgs {
    /// A process: its number, a part of what it is ("forward", "vps"), or its socket
    /// (--control there); by default all of this user.
    #[arg(value_name = "PROCESS")]
    pub(crate) process: Option<String>,
}

/// Where control sockets are by default: in $XDG_RUNTIME_DIR/polypath, else beside the keys.
pub(super) fn folder() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let (None, Some(runtime)) = (variable("POLYPATH_HOME"), variable("XDG_RUNTIME_DIR")) {
        let runtime = PathBuf::from(runtime);
        if runtime.is_absolute() {
            return Ok(runtime.join("polypath"));
        }
    }
    keys::run_folder()
}

impl ProcessArgs {
    /// Their sockets.
    pub(super) fn sockets(&self) -> Result<Vec<PathBuf>, Failure> {
        let Some(wanted) = &self.process else {
            return Ok(folder::sockets(&folder()?));
        };
        if wanted.contains('/') {
            return Ok(vec![PathBuf::from(wanted)]);
        }
        let folder = folder()?;
        if let Ok(pid) = wanted.parse() {
            let socket = folder::socket_of(&folder, pid);
            return match folder::sockets(&folder).contains(&socket) {
                true => Ok(vec![socket]),
                false => Err(self.nobody()),
            };
        }
        let is_meant = |socket: &PathBuf| {
            look(socket).is_ok_and(|status| status.process.command.contains(wanted.as_str()))
        };
        let found: Vec<_> = folder::sockets(&folder).into_iter().filter(is_meant).collect();
        if found.is_empty() { Err(self.nobody()) } else { Ok(found) }
    }

    /// The only one.
    pub(super) fn socket(&self) -> Result<PathBuf, Failure> {
        let found = self.sockets()?;
        match &found[..] {
            [] => Err(self.nobody()),
            [one] => Ok(one.clone()),
            several => {
                let names: Vec<_> = several.iter().filter_map(|path| path.file_stem()).collect();
                let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
                let text = format!("which process? (allowed: one of {})", names.join(", "));
                Err(Failure::bad_input(text))
            }
        }
    }

    pub(super) fn nobody(&self) -> Failure {
        let which = self
            .process
            .as_deref()
            .map_or(String::new(), |wanted| format!(" {:?}", shown::escape_remark(wanted)));
        let text = format!(
            "no process{which} of this user has a control socket: is `polypath forward`, serve, \
             send, receive or perf running, without --no-control?"
        );
        Failure::with_code(UNREACHABLE, text)
    }
}

/// How things are in a process.
pub(super) fn look(socket: &Path) -> Result<Status, Failure> {
    let asked = Client::connect(socket).and_then(|mut c| c.look(Sections::Status, None));
    asked.map_err(ask_failure)
}
