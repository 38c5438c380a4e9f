//! A limit on events per second.

use crate::time::Time;

const SECOND: u64 = 1_000_000_000;

/// Tokens per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Nanoseconds per token; `None`: there are no tokens.
    interval: Option<u64>,
}

impl Rate {
    pub(super) const fn new(per_second: u32) -> Self {
        Self { interval: SECOND.checked_div(per_second as u64) }
    }
}

/// What a bucket must hold so that a token may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// One.
    Nothing,
    /// A quarter of a second's worth must be left.
    Quarter,
}

impl Keep {
    const fn nanos(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Quarter => SECOND / 4,
        }
    }
}

/// A token bucket that holds one second's worth, in eight bytes: when it will be full, if nothing
/// more is taken, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket(u64);

impl Bucket {
    pub(super) const FULL: Self = Self(0);

    /// One that holds a quarter.
    pub(super) const fn with_a_quarter(now: Time) -> Self {
        Self(now.as_nanos().saturating_add(SECOND - SECOND / 4))
    }

    /// Whether there is a token.
    #[inline]
    pub(super) fn has(self, now: Time, rate: Rate, keep: Keep) -> bool {
        let Some(interval) = rate.interval else { return false };
        let full = self.0.max(now.as_nanos()).saturating_add(interval);
        full <= now.as_nanos().saturating_add(SECOND - keep.nanos())
    }

    /// Takes a token; an empty bucket stays empty.
    #[inline]
    pub(super) fn take(&mut self, now: Time, rate: Rate) {
        let full = self.0.max(now.as_nanos()).saturating_add(rate.interval.unwrap_or(0));
        self.0 = full.min(now.as_nanos().saturating_add(SECOND)).max(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(bucket: &mut Bucket, per_second: u32, at: Time, keep: Keep) -> usize {
        let rate = Rate::new(per_second);
        let mut allow = || {
            let has = bucket.has(at, rate, keep);
            if has {
                bucket.take(at, rate);
            }
            has
        };
        (0..10).filter(|_| allow()).count()
    }

    #[test]
    fn a_burst_then_the_rate_and_never_more_than_a_second_saved() {
        let mut bucket = Bucket::FULL;
        let mut allowed = |at| allowed(&mut bucket, 3, at, Keep::Nothing);
        assert_eq!(allowed(Time::ZERO), 3);
        assert_eq!(allowed(Time::from_millis(333)), 0);
        assert_eq!(allowed(Time::from_millis(334)), 1);
        assert_eq!(allowed(Time::from_secs(1_000_000)), 3);
        assert_eq!(allowed(Time::ZERO), 0);
    }

    #[test]
    fn a_quarter_is_kept_for_some() {
        let mut bucket = Bucket::FULL;
        assert_eq!(allowed(&mut bucket, 8, Time::ZERO, Keep::Quarter), 6);
        assert_eq!(allowed(&mut bucket, 8, Time::ZERO, Keep::Nothing), 2);
        let mut bucket = Bucket::with_a_quarter(Time::from_secs(5));
        assert_eq!(allowed(&mut bucket, 8, Time::from_secs(5), Keep::Quarter), 0);
        assert_eq!(allowed(&mut bucket, 8, Time::from_secs(5), Keep::Nothing), 2);
    }

    #[test]
    fn no_tokens_per_second_is_none_at_all_and_an_empty_bucket_stays_empty() {
        let (mut bucket, rate) = (Bucket::FULL, Rate::new(2));
        assert_eq!(allowed(&mut bucket, 0, Time::ZERO, Keep::Nothing), 0);
        (0..100).for_each(|_| bucket.take(Time::ZERO, rate));
        assert!(bucket.has(Time::from_millis(500), rate, Keep::Nothing));
    }
}
