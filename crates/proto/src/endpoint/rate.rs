//! A limit on events per second.

use crate::time::Time;

const SECOND: u64 = 1_000_000_000;

/// A token bucket that holds one second's worth.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateLimit {
    per_second: u64,
    /// Billionths of a token.
    credit: u64,
    updated: Time,
}

impl RateLimit {
    pub(super) const fn new(per_second: u32) -> Self {
        let per_second = per_second as u64;
        Self { per_second, credit: per_second * SECOND, updated: Time::ZERO }
    }

    /// Takes a token if there is one.
    pub(super) fn allow(&mut self, now: Time) -> bool {
        let elapsed = now.as_nanos().saturating_sub(self.updated.as_nanos());
        self.updated = self.updated.max(now);
        let earned = elapsed.saturating_mul(self.per_second);
        self.credit = self.credit.saturating_add(earned).min(self.per_second * SECOND);
        match self.credit.checked_sub(SECOND) {
            Some(left) => {
                self.credit = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_rate_and_never_more_than_a_second_saved() {
        let mut limit = RateLimit::new(3);
        let allowed = |limit: &mut RateLimit, at| (0..10).filter(|_| limit.allow(at)).count();
        assert_eq!(allowed(&mut limit, Time::ZERO), 3);
        assert_eq!(allowed(&mut limit, Time::from_millis(333)), 0);
        assert_eq!(allowed(&mut limit, Time::from_millis(334)), 1);
        assert_eq!(allowed(&mut limit, Time::from_secs(1_000_000)), 3);
        assert_eq!(allowed(&mut limit, Time::ZERO), 0);
        assert_eq!(allowed(&mut RateLimit::new(0), Time::from_secs(9)), 0);
    }
}
