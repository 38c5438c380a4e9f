//! A bound on how fast content is handed over: a token bucket, as a clock that runs ahead of time.

use std::num::NonZeroU64;
use std::time::Duration;

use tokio::time::Instant;

/// What may be sent at once after a pause: so much time's worth.
const DEPTH: Duration = Duration::from_millis(100);

/// Bits per second, if there is a bound.
#[derive(Debug)]
pub(crate) struct Throttle {
    limit: Option<NonZeroU64>,
    /// When all that was taken is paid for.
    paid: Option<Instant>,
}

impl Throttle {
    pub(crate) const fn new(limit: Option<NonZeroU64>) -> Self {
        Self { limit, paid: None }
    }

    /// Bytes to hand over at a time: no more than is sent in half the depth.
    pub(crate) fn batch(&self, most: usize) -> usize {
        let Some(limit) = self.limit else { return most };
        let half = limit.get() / 160;
        most.min(usize::try_from(half).unwrap_or(most)).max(1)
    }

    /// Bytes that a block may have so that it takes two seconds at most: who waits for it must see
    /// that something goes on.
    pub(crate) fn largest_block(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.get() / 4)
    }

    /// Takes so many bytes; gives when they may go.
    pub(crate) fn take(&mut self, bytes: usize, now: Instant) -> Instant {
        let Some(limit) = self.limit else { return now };
        let nanos = bytes as u128 * 8_000_000_000 / u128::from(limit.get());
        let cost = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let full = now.checked_sub(DEPTH).unwrap_or(now);
        let start = self.paid.map_or(full, |paid| paid.max(full));
        self.paid = Some(start + cost);
        start.max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_holds_from_second_to_second_and_pauses_save_little() {
        let mut throttle = Throttle::new(NonZeroU64::new(8_000_000));
        let begin = Instant::now();
        let mut now = begin;
        // Two megabytes at a megabyte per second.
        for _ in 0..200 {
            now = throttle.take(10_000, now);
        }
        let took = now - begin;
        assert!(took > Duration::from_millis(1850) && took < Duration::from_secs(2), "{took:?}");
        // An hour of silence allows no more than a tenth of a second at once.
        now += Duration::from_secs(3600);
        let again = now;
        for _ in 0..200 {
            now = throttle.take(10_000, now);
        }
        assert!(now - again > Duration::from_millis(1850), "{:?}", now - again);
    }

    #[test]
    fn without_a_limit_nothing_waits() {
        let (mut throttle, now) = (Throttle::new(None), Instant::now());
        assert_eq!(throttle.take(usize::MAX, now), now);
        assert_eq!((throttle.batch(77), throttle.largest_block()), (77, u64::MAX));
        let slow = Throttle::new(NonZeroU64::new(8_000));
        assert_eq!((slow.batch(1 << 20), slow.largest_block()), (50, 2_000));
    }
}
