//! When the server's application reads.

use polypath_link::Nanos;

use crate::event_queue::NEVER;
use crate::spec::ReaderSpec;

/// A reader that may be slow or pause.
#[derive(Debug)]
pub(crate) struct Reader {
    spec: ReaderSpec,
    /// When the messages read so far are digested.
    busy_until: Nanos,
}

impl Reader {
    pub(crate) fn new(mut spec: ReaderSpec) -> Self {
        spec.pauses.sort_unstable();
        Self { spec, busy_until: 0 }
    }

    /// When the next message may be read, from `now` on.
    #[inline]
    pub(crate) fn ready_at(&self, now: Nanos) -> Nanos {
        let ready = self.busy_until.max(now);
        let after = |ready: Nanos, &(from, to): &(Nanos, Nanos)| {
            if (from..to).contains(&ready) { to } else { ready }
        };
        self.spec.pauses.iter().fold(ready, after)
    }

    /// A message of `bytes` was read.
    #[inline]
    pub(crate) fn note_read(&mut self, now: Nanos, bytes: usize) {
        if let Some(rate) = self.spec.rate {
            let ns = bytes as u128 * 8_000_000_000 / u128::from(rate);
            let time = u64::try_from(ns).unwrap_or(NEVER);
            self.busy_until = self.busy_until.max(now).saturating_add(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_takes_its_time_and_its_pauses() {
        let spec = ReaderSpec { rate: Some(8_000), pauses: vec![(50, 60), (10, 20), (20, 30)] };
        let mut reader = Reader::new(spec);
        assert_eq!([5, 10, 25, 30, 55].map(|now| reader.ready_at(now)), [5, 30, 30, 30, 60]);
        reader.note_read(100, 3);
        assert_eq!(reader.ready_at(101), 3_000_100);
    }
}
