//! Who the two hosts are to each other.

use polypath_apps::doctor::{About, Finding, Mark, PathReport, State};
use polypath_net::ConnectError;

use crate::keys::{ClientKeys, KeyTrouble};

/// What keys have to do with an error, in a line.
pub(super) fn explain(keys: &ClientKeys, error: &ConnectError) -> Option<String> {
    Some(match keys.explain(error)? {
        KeyTrouble::Unexpected(key) => keys.refuse(&key).message().to_owned(),
        KeyTrouble::Failed(failure) => failure.message().to_owned(),
    })
}

/// One line about all paths, or one for each thing that is wrong.
pub(super) fn advise_identity(keys: &ClientKeys, paths: &[PathReport]) -> Vec<Finding> {
    let mut wrong: Vec<&str> = Vec::new();
    for path in paths.iter().filter(|path| path.state == State::Keys) {
        let why = path.why.as_deref().unwrap_or_default();
        if !wrong.contains(&why) {
            wrong.push(why);
        }
    }
    if !wrong.is_empty() {
        // Each says what is expected, and what to do, as the other commands do.
        return wrong.into_iter().map(|why| line(Mark::Fail, why.to_owned(), None)).collect();
    }
    let Some(path) = paths.iter().find(|path| path.carries()) else {
        let own = keys.fingerprint();
        return own
            .map(|own| line(Mark::Ok, format!("this host's key is {own}"), None))
            .into_iter()
            .collect();
    };
    let known = match (&path.peer, keys.fingerprint()) {
        (Some(peer), Some(own)) => {
            format!(
                "the server has the key {peer} that is known of it, and lets this host's in, {own}"
            )
        }
        _ if keys.protects() => "both ends have the same secret (--psk)".to_owned(),
        _ => {
            let remedy = "leave --insecure out at both ends".to_owned();
            let what = "not encrypted: nobody proves who he is".to_owned();
            return vec![line(Mark::Warn, what, Some(remedy))];
        }
    };
    vec![line(Mark::Ok, known, None)]
}

const fn line(mark: Mark, what: String, remedy: Option<String>) -> Finding {
    Finding { mark, about: About::Identity, path: None, what, remedy }
}
