//! What went wrong on the paths of an association that is being set up, and whether any of them is
//! left.

use polypath_proto::config::MAX_PATHS;
use polypath_proto::time::Time;
use polypath_proto::view::PathState;
use polypath_proto::{Association, FourTuple};

/// A path that INIT takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetupPath {
    tuple: FourTuple,
    /// When the peer's last packet came on it.
    last_heard: Option<Time>,
}

/// Errors, each of the path on which it happened: paths that end at one address start at different
/// ones, and one that fails says nothing of the others.
#[derive(Debug, Default)]
pub(crate) struct SetupErrors(Vec<SetupError>);

#[derive(Debug)]
struct SetupError {
    tuple: FourTuple,
    /// When it happened last.
    at: Time,
    why: String,
}

impl SetupPath {
    /// The paths that `association` sends its INIT on. They may be fewer than its user named.
    pub(crate) fn all_of(association: &Association) -> Vec<Self> {
        let paths = association.stats().paths.into_iter();
        let live = paths.filter(|path| path.state != PathState::Removed);
        live.map(|path| Self {
            tuple: FourTuple { local: path.local, remote: path.remote },
            last_heard: association.path_contact(path.path).and_then(|c| c.last_heard),
        })
        .collect()
    }
}

impl SetupErrors {
    /// The first word on a path is kept. What this host refuses to send may come back as an ICMP
    /// message of its own, which says less.
    pub(crate) fn note(&mut self, now: Time, tuple: FourTuple, why: String) {
        if let Some(known) = self.0.iter_mut().find(|error| error.tuple == tuple) {
            known.at = now;
        } else if self.0.len() < MAX_PATHS {
            self.0.push(SetupError { tuple, at: now, why });
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether no answer is to be hoped for: every path has failed since it was heard of last.
    pub(crate) fn are_everywhere(&self, paths: &[SetupPath]) -> bool {
        let failed = |path: &SetupPath| {
            let error = self.of_path(path.tuple);
            error.is_some_and(|error| path.last_heard.is_none_or(|heard| error.at >= heard))
        };
        !paths.is_empty() && paths.iter().all(failed)
    }

    /// What became of each path, in one line.
    pub(crate) fn describe(&self, paths: &[SetupPath]) -> String {
        let each = paths.iter().map(|path| {
            let why = self.of_path(path.tuple).map_or("no answer", |error| &error.why);
            format!("{}: {why}", path.tuple)
        });
        each.collect::<Vec<_>>().join("; ")
    }

    fn of_path(&self, tuple: FourTuple) -> Option<&SetupError> {
        self.0.iter().find(|error| error.tuple == tuple)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(local: &str, remote: &str, last_heard: Option<u64>) -> SetupPath {
        let tuple = FourTuple { local: local.parse().unwrap(), remote: remote.parse().unwrap() };
        SetupPath { tuple, last_heard: last_heard.map(Time::from_secs) }
    }

    /// Two uplinks to a server with one address.
    fn uplinks() -> [SetupPath; 2] {
        ["10.0.1.1:1", "10.0.2.1:1"].map(|local| path(local, "10.0.0.2:9", None))
    }

    fn errors(list: &[(u64, SetupPath, &str)]) -> SetupErrors {
        let mut errors = SetupErrors::default();
        for (at, path, why) in list {
            errors.note(Time::from_secs(*at), path.tuple, (*why).to_owned());
        }
        errors
    }

    #[test]
    fn one_of_two_paths_to_an_address_is_not_all() {
        let paths = uplinks();
        let none = SetupErrors::default();
        assert!(!none.are_everywhere(&paths) && none.is_empty());
        for failed in paths {
            let one = errors(&[(1, failed, "refused"), (2, failed, "refused")]);
            assert!(!one.are_everywhere(&paths), "{failed:?}");
            assert!(one.are_everywhere(&[failed]), "{failed:?}");
        }
        let both = errors(&[(1, paths[0], "refused"), (2, paths[1], "unreachable")]);
        assert!(both.are_everywhere(&paths));
        assert!(!both.are_everywhere(&[]), "nothing was tried");
    }

    #[test]
    fn one_of_two_paths_from_an_address_is_not_all() {
        let paths = ["10.0.0.2:9", "10.0.0.3:9"].map(|remote| path("10.0.1.1:1", remote, None));
        assert!(!errors(&[(1, paths[0], "refused")]).are_everywhere(&paths));
        let both = errors(&[(1, paths[0], "refused"), (1, paths[1], "refused")]);
        assert!(both.are_everywhere(&paths));
    }

    #[test]
    fn a_path_that_was_heard_of_has_to_fail_again() {
        let [first, second] = uplinks();
        let heard = path("10.0.1.1:1", "10.0.0.2:9", Some(2));
        let before = [(1, first, "unreachable"), (3, second, "refused")];
        assert!(!errors(&before).are_everywhere(&[heard, second]));
        let again = [(1, first, "unreachable"), (3, second, "refused"), (4, first, "refused")];
        assert!(errors(&again).are_everywhere(&[heard, second]));
    }

    #[test]
    fn each_path_is_told_of_with_its_first_error() {
        let paths = uplinks();
        let list = [(1, paths[1], "operation not permitted"), (2, paths[1], "connection refused")];
        let line = "10.0.1.1:1 -> 10.0.0.2:9: no answer; \
                    10.0.2.1:1 -> 10.0.0.2:9: operation not permitted";
        assert_eq!(errors(&list).describe(&paths), line);
    }

    #[test]
    fn no_more_errors_are_kept_than_paths_may_be() {
        let mut errors = SetupErrors::default();
        for port in 1..1000 {
            let stray = path(&format!("10.0.1.1:{port}"), "10.0.0.2:9", None);
            errors.note(Time::from_secs(1), stray.tuple, "refused".to_owned());
        }
        assert_eq!(errors.0.len(), MAX_PATHS);
    }
}
