//! What the matrix needs beside itself: the C peer, tshark, and the rights.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use super::capture::Tshark;
use super::settings::Settings;

/// The programs.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) own: PathBuf,
    pub(super) peer: PathBuf,
    pub(super) tshark: Option<Tshark>,
    /// What is left out for want of a program.
    pub(super) missing: Vec<String>,
    pub(super) keep: Option<PathBuf>,
    /// Captures, the C peer, tshark's settings.
    pub(super) folder: TempDir,
}

impl Tools {
    /// Finds or builds them; a line when conversations are not possible without one.
    ///
    /// # Errors
    /// When files cannot be written, or the C peer does not compile.
    pub(super) fn find_all(settings: &Settings) -> Result<Result<Self, String>> {
        if !nix::unistd::geteuid().is_root() {
            return Ok(Err("all conversations: network namespaces need root".to_owned()));
        }
        if !Path::new("/usr/include/usrsctp.h").exists() {
            let why = "all conversations: usrsctp.h is missing (apt-get install libusrsctp-dev)";
            return Ok(Err(why.to_owned()));
        }
        let folder = tempfile::Builder::new().prefix("polypath-interop").tempdir()?;
        let peer = compile_peer(folder.path())?;
        let tshark = Tshark::find_program(folder.path())?;
        let missing = match &tshark {
            Some(_) => Vec::new(),
            None => vec![
                "all captures: dumpcap or tshark is missing (apt-get install tshark)".to_owned(),
            ],
        };
        let (own, keep) = (settings.own.clone(), settings.keep.clone());
        Ok(Ok(Self { own, peer, tshark, missing, keep, folder }))
    }
}

/// The C peer, compiled into `folder`.
fn compile_peer(folder: &Path) -> Result<PathBuf> {
    let peer = folder.join("peer");
    let mut make = Command::new("make");
    make.args(["-s", "-C", env!("CARGO_MANIFEST_DIR")]);
    make.arg(format!("OUT={}", folder.display())).arg(&peer);
    let output = make.output().context("make")?;
    if !output.status.success() {
        bail!("the C peer does not compile: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(peer)
}
