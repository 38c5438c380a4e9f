//! Which processes there are to look into.

use std::path::PathBuf;

use clap::Args;
use polypath_apps::shown;
use polypath_control::client::look_at_all;
use polypath_control::message::Status;
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

/// A process that answered, or why it did not.
pub(super) type Found = (PathBuf, Result<Status, Failure>);

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
    /// All that are meant, with what they say of themselves; at least one, where one is named.
    pub(super) fn look(&self) -> Result<Vec<Found>, Failure> {
        if let Some(path) = self.process.as_deref().filter(|wanted| wanted.contains('/')) {
            let path = PathBuf::from(path);
            return Ok(vec![Client::connect(&path).map_or_else(
                |error| (path.clone(), Err(ask_failure(error))),
                |client| found(look_at_all(vec![client])).remove(0),
            )]);
        }
        let folder = folder()?;
        let mut clients = Vec::new();
        let mut all = Vec::new();
        for process in folder::processes(&folder) {
            match process {
                Ok(client) => clients.push(client),
                Err(path) => {
                    let text = format!("{}: the process takes no connections", path.display());
                    all.push((path, Err(Failure::with_code(UNREACHABLE, text))));
                }
            }
        }
        all.extend(found(look_at_all(clients)));
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let Some(wanted) = &self.process else { return Ok(all) };
        match wanted.parse() {
            Ok(pid) => all.retain(|(path, _)| *path == folder::socket_of(&folder, pid)),
            Err(_) => all.retain(|(_, status)| {
                status.as_ref().is_ok_and(|status| status.process.command.contains(wanted.as_str()))
            }),
        }
        if all.is_empty() { Err(self.nobody()) } else { Ok(all) }
    }

    /// The socket of the only one.
    pub(super) fn socket(&self) -> Result<PathBuf, Failure> {
        let mut all = self.look()?;
        match all.len() {
            0 => Err(self.nobody()),
            1 => {
                let (path, status) = all.remove(0);
                status.map(|_| path)
            }
            _ => {
                let names = all.iter().filter_map(|(path, _)| path.file_stem());
                let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
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

fn found(asked: Vec<(PathBuf, Result<Status, polypath_control::client::AskError>)>) -> Vec<Found> {
    asked.into_iter().map(|(path, status)| (path, status.map_err(ask_failure))).collect()
}
