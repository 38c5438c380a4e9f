//! Exchanges that failed are tried again, ever later.

use polypath_proto::time::{Duration, Time};

/// How long the first wait is after an exchange that failed; each that fails doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(256);

/// When we may begin an exchange again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retry {
    pub(super) at: Time,
    wait: Duration,
}

impl Retry {
    pub(super) fn failed(&mut self, now: Time) {
        self.wait = (2 * self.wait).clamp(FIRST_WAIT, LONGEST_WAIT);
        self.at = now + self.wait;
    }
}
