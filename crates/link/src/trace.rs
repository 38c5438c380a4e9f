//! Delivery traces in the format of Mahimahi (Netravali et al., 2015): recorded cellular links as a
//! list of moments at which the link can carry one packet.

use std::sync::Arc;

use crate::Nanos;

const NANOS_PER_MILLI: u64 = 1_000_000;
const MAX_MILLIS: u64 = u64::MAX / NANOS_PER_MILLI;

/// Moments at which a link can send 1500 bytes each, repeated for ever with the last moment as
/// period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Ascending, in ns. Shared because traces are long and every link keeps its configuration.
    moments: Arc<[Nanos]>,
    period: Nanos,
}

/// Why a text is not a delivery trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line is not a number.
    #[error("line {line}: {text:?} is not a time (allowed: whole milliseconds)")]
    NotANumber {
        /// Counted from 1.
        line: usize,
        /// The start of what the line holds.
        text: String,
    },
    /// A time lies before the one above it.
    #[error(
        "line {line}: {millis} ms comes after {previous} ms (allowed: times that never decrease)"
    )]
    Decreasing {
        /// Counted from 1.
        line: usize,
        /// The line's time.
        millis: u64,
        /// The time before it.
        previous: u64,
    },
    /// The trace ends at time 0, or holds nothing, and cannot be repeated.
    #[error("line {line}: the trace ends at 0 ms (allowed: a last time of at least 1 ms)")]
    Empty {
        /// The last line, 0 when there is none.
        line: usize,
    },
    /// A time does not fit into 64 bits of nanoseconds.
    #[error("line {line}: {millis} ms is too late (allowed: up to {MAX_MILLIS} ms)")]
    TooLate {
        /// Counted from 1.
        line: usize,
        /// The line's time.
        millis: u64,
    },
}

impl DeliveryTrace {
    /// Bytes that one moment can carry.
    pub const BYTES: u32 = 1500;

    /// Reads one time in milliseconds per line; blank lines and lines that begin with `#` are
    /// skipped.
    ///
    /// # Errors
    /// The first line that does not belong into a trace.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut moments = Vec::new();
        let (mut last_line, mut previous) = (0, 0);
        for (line, text) in (1..).zip(text.lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let millis = parse_millis(line, text, previous)?;
            moments.push(millis * NANOS_PER_MILLI);
            (last_line, previous) = (line, millis);
        }
        if previous == 0 {
            return Err(TraceError::Empty { line: last_line });
        }
        Ok(Self { moments: moments.into(), period: previous * NANOS_PER_MILLI })
    }

    /// The same trace from `start` on: what it had at that moment comes at time 0. The period
    /// stays.
    #[must_use]
    pub fn starting_at(&self, start: Nanos) -> Self {
        let start = start % self.period;
        let (before, after) = self.moments.split_at(self.moments.partition_point(|&at| at < start));
        let moments = after.iter().map(|at| at - start);
        // A round ends where the next begins, so what comes before `start` comes at its end.
        let moments = moments.chain(before.iter().map(|at| at + self.period - start)).collect();
        Self { moments, period: self.period }
    }

    /// Mean rate in bit/s.
    #[must_use]
    pub fn mean_rate(&self) -> u64 {
        let bits = self.moments.len() as u128 * u128::from(Self::BYTES) * 8;
        (bits * 1_000_000_000 / u128::from(self.period)) as u64
    }

    /// The number of the first moment at or after `now`, counted over all repetitions.
    pub(crate) fn first_from(&self, now: Nanos) -> u64 {
        // The last moment of a round and time 0 of the next are the same instant: look from the
        // earlier round.
        let round = (now / self.period).saturating_sub(u64::from(now.is_multiple_of(self.period)));
        let within = now - round * self.period;
        let place = self.moments.partition_point(|&at| at < within);
        round.saturating_mul(self.moments.len() as u64).saturating_add(place as u64)
    }

    /// When moment number `n` is.
    pub(crate) fn moment_at(&self, n: u64) -> Nanos {
        let len = self.moments.len() as u64;
        let within = self.moments.get((n % len) as usize).copied().unwrap_or(0);
        (n / len).saturating_mul(self.period).saturating_add(within)
    }
}

fn parse_millis(line: usize, text: &str, previous: u64) -> Result<u64, TraceError> {
    let millis: u64 = text
        .parse()
        .map_err(|_| TraceError::NotANumber { line, text: text.chars().take(32).collect() })?;
    if millis < previous {
        return Err(TraceError::Decreasing { line, millis, previous });
    }
    if millis > MAX_MILLIS {
        return Err(TraceError::TooLate { line, millis });
    }
    Ok(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_repeat_with_the_last_one_as_period() {
        let trace = DeliveryTrace::parse("# recorded\n1\n1\n\n5\n10\n").unwrap();
        let times: Vec<_> = (0..8).map(|n| trace.moment_at(n) / NANOS_PER_MILLI).collect();
        assert_eq!(times, [1, 1, 5, 10, 11, 11, 15, 20]);
        assert_eq!(trace.mean_rate(), 4 * 12_000 * 100);
    }

    #[test]
    fn the_first_moment_from_a_time_is_the_first_not_before_it() {
        let trace = DeliveryTrace::parse("0\n3\n3\n7\n").unwrap();
        for now in 0..40 * NANOS_PER_MILLI / 500_000 {
            let now = now * 500_000;
            let simple = (0..).find(|&n| trace.moment_at(n) >= now).unwrap();
            assert_eq!(trace.first_from(now), simple, "at {now}");
        }
    }

    #[test]
    fn a_later_start_shifts_what_comes_and_keeps_the_period() {
        let trace = DeliveryTrace::parse("0\n3\n3\n7\n").unwrap();
        for start in 0..20 {
            let later = trace.starting_at(start * NANOS_PER_MILLI);
            for now in 0..30 {
                let (now, start) = (now * NANOS_PER_MILLI, start * NANOS_PER_MILLI);
                let next = |trace: &DeliveryTrace, at| trace.moment_at(trace.first_from(at));
                assert_eq!(next(&later, now) + start, next(&trace, now + start), "{start} {now}");
            }
            assert_eq!(later.mean_rate(), trace.mean_rate());
        }
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text| DeliveryTrace::parse(text).unwrap_err().to_string();
        assert_eq!(error("1\nx\n"), "line 2: \"x\" is not a time (allowed: whole milliseconds)");
        assert_eq!(
            error("5\n4\n"),
            "line 2: 4 ms comes after 5 ms (allowed: times that never decrease)"
        );
        assert_eq!(
            error("0\n0\n"),
            "line 2: the trace ends at 0 ms (allowed: a last time of at least 1 ms)"
        );
        assert!(error("").starts_with("line 0"));
        assert!(error("18446744073710\n").contains("too late"));
    }
}
