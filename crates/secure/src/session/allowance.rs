//! How often the peer may begin an exchange: each takes the time of a signature, and who was let in
//! need not be a friend.

use polypath_proto::time::{Duration, Time};

/// So many at once,
const AT_ONCE: u32 = 8;

/// and one more after each such time.
const EACH: Duration = Duration::from_secs(1);

/// What is left of it, as the time when all is there again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowance {
    full_at: Time,
}

impl Allowance {
    /// Whether one may begin now.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let full_at = self.full_at.max(now) + EACH;
        let admits = full_at.since(now) <= EACH * AT_ONCE;
        if admits {
            self.full_at = full_at;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_may_begin_at_once_and_one_a_second() {
        let mut allowance = Allowance::default();
        let mut count = |from: u64, to: u64| {
            (from..to).filter(|ms| allowance.take(Time::from_millis(*ms))).count()
        };
        assert_eq!(count(0, 900), 8);
        assert_eq!(count(900, 10_100), 10);
        assert_eq!(count(60_000, 60_900), 8);
    }
}
