//! The question whether a key is the right one.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use polypath_apps::keys::{Fingerprint, KnownPeersFile, PeerNames};

use super::UNTRUSTED;
use crate::failure::Failure;
use crate::interrupt;

/// Questions until no answer is one.
const TRIES: usize = 3;

/// Nothing is known of a peer that has `key`: the user says whether it is the right one, and it is
/// remembered. Where nobody can be asked it is an error.
pub(super) fn about_unknown(
    names: &PeerNames,
    key: Fingerprint,
    file: &KnownPeersFile,
) -> Result<(), Failure> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(tell_of_unknown(names, key, file));
    }
    // Nothing is under way that would want to say goodbye.
    interrupt::release_interrupt();
    if !ask(names, key).map_err(|error| Failure::with_code(UNTRUSTED, error))? {
        let text = format!("{names}: not trusted; nothing was sent");
        return Err(Failure::with_code(UNTRUSTED, text));
    }
    file.remember(names, key, None).map_err(super::file_failure)
}

/// Nothing is known of a peer that has `key`, and nobody is asked.
pub(super) fn tell_of_unknown(
    names: &PeerNames,
    key: Fingerprint,
    file: &KnownPeersFile,
) -> Failure {
    let text = format!(
        "{names} is not known, and has the key {key}: if `polypath id` prints that there, say \
         --peer {key}, or add the line `{} {key}` to {}",
        names.first(),
        file.shown_path()
    );
    Failure::with_code(UNTRUSTED, text)
}

fn ask(names: &PeerNames, key: Fingerprint) -> io::Result<bool> {
    let mut err = io::stderr();
    writeln!(err, "{names} is not known yet. It has the key\n  {key}")?;
    for _ in 0..TRIES {
        write!(err, "Does `polypath id` print the same there (yes/no)? ")?;
        err.flush()?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            return Ok(false);
        }
        match answer.trim().to_ascii_lowercase().as_str() {
            "yes" => return Ok(true),
            "no" => return Ok(false),
            _ => writeln!(err, "yes or no, please.")?,
        }
    }
    Ok(false)
}
