//! The control socket of this process.

use std::path::{Path, PathBuf};

use clap::Args;
use polypath_control::{Control, folder};
use polypath_net::Observer;

use super::find;
use crate::failure::Failure;
use crate::talk::Talk;

/// Whether others of this user may look into this process.
#[derive(Debug, Args)]
pub(crate) struct ControlArgs {
    /// Open no control socket, by which `polypath top` and others see this process.
    #[arg(long, conflicts_with = "control")]
    no_control: bool,
    /// Open it here, in place of a folder of this user where `polypath top` finds it.
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,
}

/// A control socket as long as this lives, or none.
#[derive(Debug)]
pub(crate) struct OwnControl {
    pub(crate) observer: Observer,
    control: Option<Control>,
}

impl OwnControl {
    /// The socket, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.control.as_ref().map(Control::path)
    }
}

impl ControlArgs {
    /// Opens it. One that was asked for by name must be there; any other is told of if it is not.
    pub(crate) fn open(&self, code: u8, command: &str, talk: Talk) -> Result<OwnControl, Failure> {
        let observer = Observer::new();
        let control = match &self.control {
            _ if self.no_control => None,
            Some(path) => {
                let opened = Control::open(path, observer.clone(), command);
                let failed = |error| Failure::with_code(code, format!("--control {error}"));
                Some(opened.map_err(failed)?)
            }
            None => match open_default(observer.clone(), command) {
                Ok(control) => Some(control),
                Err(why) => {
                    talk.say(format_args!("warning: no control socket: {why}"));
                    None
                }
            },
        };
        Ok(OwnControl { observer, control })
    }
}

fn open_default(observer: Observer, command: &str) -> Result<Control, String> {
    let folder = find::folder().map_err(|failure| failure.message().to_owned())?;
    folder::make(&folder).map_err(|error| error.to_string())?;
    let path = folder::socket_of(&folder, std::process::id());
    Control::open(&path, observer, command).map_err(|error| error.to_string())
}
