//! Which connections get low delay: small and sparse ones, as people type and programs ask. Nobody
//! sets a flag; a connection is judged by what it sent lately, in each direction by its sender.

use std::time::Duration;

use polypath_net::{Service, StreamNeeds};
use tokio::time::Instant;

/// Bytes within [`SPAN`] up to which a connection counts as sparse. Who types, or plays, sends
/// less; who loads a page asks for less.
const SPARSE: u64 = 16 << 10;

/// How far back one looks.
const SPAN: Duration = Duration::from_secs(1);

/// What a connection sent lately.
#[derive(Debug)]
pub struct Judge {
    service: Service,
    /// Since when `bytes` are counted, and what was sent in the span before.
    since: Instant,
    bytes: u64,
    before: u64,
}

impl Judge {
    /// A connection that begins: it is sparse until it has shown otherwise.
    pub const fn new(now: Instant) -> Self {
        Self { service: Service::LowDelay, since: now, bytes: 0, before: 0 }
    }

    /// What the stream needs.
    pub fn needs(&self) -> StreamNeeds {
        StreamNeeds { service: self.service, ..StreamNeeds::default() }
    }

    /// It is about to send `bytes`; whether what it needs changes by that.
    pub fn note(&mut self, now: Instant, bytes: u64) -> bool {
        let passed = now.saturating_duration_since(self.since);
        if passed >= SPAN {
            self.before = if passed < 2 * SPAN { self.bytes } else { 0 };
            (self.since, self.bytes) = (now, 0);
        }
        self.bytes += bytes;
        let sparse = self.bytes.max(self.before) <= SPARSE;
        let service = if sparse { Service::LowDelay } else { Service::Throughput };
        core::mem::replace(&mut self.service, service) != service
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_is_found_out_at_once_and_quiet_within_two_seconds() {
        let mut now = Instant::now();
        let mut judge = Judge::new(now);
        assert!(!judge.note(now, 16_384), "a request");
        assert!(judge.note(now, 1));
        assert_eq!(judge.needs().service, Service::Throughput);
        now += Duration::from_millis(1500);
        assert!(!judge.note(now, 100), "the span before was a full one");
        now += Duration::from_millis(1000);
        assert!(judge.note(now, 100));
        assert_eq!(judge.needs().service, Service::LowDelay);
    }

    #[test]
    fn who_types_stays_quick() {
        let mut now = Instant::now();
        let mut judge = Judge::new(now);
        for _ in 0..1000 {
            now += Duration::from_millis(50);
            assert!(!judge.note(now, 200));
        }
    }
}
