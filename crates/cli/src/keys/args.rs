//! Options of encryption.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use polypath_apps::keys::{Enrolment, Fingerprint};
use zeroize::Zeroizing;

use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct CommonKeyArgs {
    /// Do not encrypt, and let nobody prove who he is: whoever sees the packets can read, change
    /// and end all of it. The other end has to say so, too.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Encrypt with a secret that both ends have, in place of keys: 32 random bytes as hex or
    /// base32. Who learns it can read what was recorded before.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) psk: Option<PathBuf>,
    /// Write the secrets of associations to the file that SSLKEYLOGFILE names: with them, whoever
    /// has a capture can read it.
    #[arg(long, conflicts_with_all = ["insecure", "psk"])]
    pub(crate) keylog: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ClientKeyArgs {
    /// Talk to the peer with this key alone, which `polypath id` prints there; by default to those
    /// of the file known-peers, and who is not in it is asked about on a terminal.
    #[arg(long, value_name = "pp:KEY", conflicts_with_all = ["insecure", "psk"])]
    pub(crate) peer: Option<Fingerprint>,
    /// The one-time code that the peer printed with --enroll: each end keeps the other's key. - is
    /// read from stdin.
    #[arg(long, value_name = "pp-code:CODE", conflicts_with_all = ["insecure", "psk", "peer"])]
    pub(crate) code: Option<Code>,
}

#[derive(Debug, Args)]
pub(crate) struct ServerKeyArgs {
    /// Let in only those whose keys are in this file, as `polypath id` prints them, one a line; it
    /// is read again when it changes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["insecure", "psk"])]
    pub(crate) allow: Option<PathBuf>,
    /// First print a one-time code and wait for who has it; its key is added to the file of
    /// --allow.
    #[arg(long, requires = "allow")]
    pub(crate) enroll: bool,
}

/// A one-time code, or where it comes from.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Given(Enrolment),
    Stdin,
    /// With a slip: what is wrong. Not told by the parser of arguments, which would print the code.
    Wrong(String),
}

impl FromStr for Code {
    type Err = core::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "-" => Self::Stdin,
            text => match text.parse() {
                Ok(code) => Self::Given(code),
                Err(error) => Self::Wrong(format!("{error}")),
            },
        })
    }
}

impl Code {
    /// The code.
    pub(super) fn read(&self) -> Result<Enrolment, Failure> {
        match self {
            Self::Given(code) => Ok(code.clone()),
            Self::Wrong(error) => Err(Failure::bad_input(format!("--code: {error}"))),
            Self::Stdin => {
                let mut line = Zeroizing::new(String::with_capacity(256));
                let limited = std::io::Read::take(std::io::stdin(), 256);
                std::io::BufRead::read_line(&mut std::io::BufReader::new(limited), &mut line)
                    .map_err(|error| Failure::bad_input(format!("--code -: stdin: {error}")))?;
                line.trim().parse().map_err(|e| Failure::bad_input(format!("--code -: {e}")))
            }
        }
    }
}
