//! The programs that are measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Programs that take part.
pub(crate) struct Programs {
    /// The `polypath` command.
    pub(crate) polypath: PathBuf,
    /// The folder of the key that both ends of it have.
    pub(crate) home: PathBuf,
    /// The fingerprint of that key.
    pub(crate) peer: String,
    /// The yardstick over usrsctp and the kernel's protocols, `interop/bench.c`.
    pub(crate) bench: PathBuf,
    /// The same over another build of usrsctp, if there is one.
    pub(crate) optimised: Option<PathBuf>,
}

impl Programs {
    /// The command beside this program, and the yardstick, which is built in `out`.
    pub(crate) fn find_programs(optimised: Option<PathBuf>, out: &Path) -> Result<Self> {
        let here = std::env::current_exe()?;
        let polypath = here.with_file_name("polypath");
        if !polypath.is_file() {
            bail!("{}: does not exist: build it with the same profile first", polypath.display());
        }
        let bench = out.join("bench");
        let made = Command::new("make")
            .args(["-s", "-C", "interop"])
            .arg(format!("OUT={}", out.display()))
            .arg(&bench)
            .status();
        if !made.is_ok_and(|status| status.success()) {
            bail!(
                "make -C interop bench: failed (gcc and libusrsctp-dev are needed; run from the checkout)"
            );
        }
        let (home, peer) = (out.to_owned(), make_key(&polypath, out)?);
        Ok(Self { polypath, home, peer, bench, optimised })
    }
}

/// The fingerprint of a new key in `home`.
fn make_key(polypath: &Path, home: &Path) -> Result<String> {
    let made = Command::new(polypath).arg("id").env("POLYPATH_HOME", home).output();
    let made = made.context("polypath id")?;
    if !made.status.success() {
        bail!("polypath id: {}", made.status);
    }
    Ok(String::from_utf8(made.stdout).context("polypath id")?.trim().to_owned())
}
