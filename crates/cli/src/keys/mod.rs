//! Who this host is, whom it talks to, and whom it lets in: the same for all commands that open
//! associations.

mod args;
mod ask;
mod client;
mod enrol;
mod explain;
mod id;
mod server;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::hosts::Hosts;
use polypath_apps::keys::{Home, Identity, KeyError, KeyLogFile, Tls, Trust};

pub(crate) use self::args::{ClientKeyArgs, Code, CommonKeyArgs, ServerKeyArgs};
pub(crate) use self::client::ClientKeys;
pub(crate) use self::enrol::Route;
pub(crate) use self::explain::{KeyTrouble, explain_refusal};
pub(crate) use self::id::{Id as IdJson, IdArgs, id};
pub(crate) use self::server::{Listening, ServerKeys};
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;

/// A file of this host, or one that holds its keys.
pub(crate) const LOCAL: u8 = 5;
/// The peer is not known, or not who it should be, or does not let us in.
pub(crate) const UNTRUSTED: u8 = 6;

/// For how long, and after what times, one connects again to a peer that has enrolled us just now:
/// it opens its port anew.
const REOPENED: Duration = Duration::from_secs(5);
pub(crate) const REOPENING: Duration = Duration::from_millis(200);

/// What is given up.
const INSECURE: &str = "not encrypted (--insecure): whoever sees the packets can read and change all of \
                        it, and nobody proves who he is";

/// The folder of keys.
fn home() -> Result<Home, Failure> {
    Home::find(|name| std::env::var_os(name)).map_err(file_failure)
}

/// Hosts that this user has given names.
pub(crate) fn named_hosts() -> Result<Hosts, Failure> {
    // Without a folder there is no file in it.
    let Ok(home) = home() else { return Ok(Hosts::default()) };
    Hosts::read(&home.config_file()).map_err(|error| Failure::with_code(LOCAL, error))
}

/// The folder for what runs; it need not be there.
pub(crate) fn run_folder() -> Result<PathBuf, Failure> {
    Ok(home()?.run_folder())
}

/// A file for what runs, called after `what` it is for.
pub(crate) fn run_file(kind: &str, what: &str) -> Result<PathBuf, Failure> {
    let folder = home()?.make_run_folder().map_err(file_failure)?;
    let digest = Sha256::digest(what);
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(folder.join(format!("{kind}-{name}.sock")))
}

fn file_failure(error: KeyError) -> Failure {
    Failure::with_code(LOCAL, error)
}

/// The file for secrets, if it was asked for.
fn key_log(args: &CommonKeyArgs) -> Result<Option<Arc<KeyLogFile>>, Failure> {
    if !args.keylog {
        return Ok(None);
    }
    let path = std::env::var_os("SSLKEYLOGFILE").filter(|path| !path.is_empty());
    let path = path.map(PathBuf::from).ok_or_else(|| {
        Failure::bad_input("--keylog: the variable SSLKEYLOGFILE has to name a file")
    })?;
    KeyLogFile::open(&path).map(|file| Some(Arc::new(file))).map_err(file_failure)
}

fn tls(identity: &Identity, trust: Trust, log: Option<&Arc<KeyLogFile>>) -> Tls {
    let tls = Tls::new(identity, trust);
    match log {
        Some(log) => tls.log_keys(log.clone()),
        None => tls,
    }
}
