//! Lines that others cause, clients and strangers: some at once, and then one in a while, whatever
//! they do. A server runs for months, so nobody is silenced for good.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::event::{Kind, Teller};

/// Lines at once, at most.
const BURST: u32 = 40;
/// When there is room for one more.
const EACH: Duration = Duration::from_secs(5);

/// Where such lines go.
#[derive(Debug)]
pub(super) struct Lines {
    teller: Teller,
    bucket: Mutex<Bucket>,
}

/// Room for lines.
#[derive(Debug)]
struct Bucket {
    room: u32,
    since: Instant,
    left_out: u32,
}

impl Lines {
    pub(super) fn new(teller: Teller) -> Self {
        let bucket = Bucket { room: BURST, since: Instant::now(), left_out: 0 };
        Self { teller, bucket: Mutex::new(bucket) }
    }

    /// Tells a line, if there is room for it, and how many there was none for before.
    pub(super) fn tell(&self, kind: Kind, line: &str) {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = bucket.take(Instant::now());
        drop(bucket);
        match left_out {
            None => {}
            Some(0) => self.teller.tell(kind, line),
            Some(more) => self.teller.tell(kind, format_args!("{line} ({more} lines left out)")),
        }
    }
}

impl Bucket {
    /// Takes room for a line; how many were left out before it. `None`: there is no room.
    fn take(&mut self, now: Instant) -> Option<u32> {
        let passed = now.saturating_duration_since(self.since);
        let more = u32::try_from(passed.as_nanos() / EACH.as_nanos()).unwrap_or(u32::MAX);
        if more > 0 {
            self.room = self.room.saturating_add(more).min(BURST);
            self.since = now;
        }
        match self.room.checked_sub(1) {
            Some(room) => {
                self.room = room;
                Some(core::mem::take(&mut self.left_out))
            }
            None => {
                self.left_out = self.left_out.saturating_add(1);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_burst_and_then_a_line_in_a_while() {
        let mut now = Instant::now();
        let mut bucket = Bucket { room: BURST, since: now, left_out: 0 };
        assert_eq!((0..1000).filter(|_| bucket.take(now) == Some(0)).count(), BURST as usize);
        now += EACH;
        assert_eq!((bucket.take(now), bucket.take(now)), (Some(1000 - BURST), None));
        now += 1000 * EACH;
        assert_eq!((bucket.take(now), bucket.room), (Some(1), BURST - 1), "no more than a burst");
    }
}
