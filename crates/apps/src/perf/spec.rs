//! What a test is to be, and what a server takes part in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A test, as the client asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TestSpec {
    /// How long load is made after the omitted part, milliseconds.
    pub duration_ms: u64,
    /// How long load is made before anything counts, milliseconds.
    pub omit_ms: u64,
    /// Length of an interval, milliseconds.
    pub interval_ms: u64,
    /// Who sends.
    pub way: Way,
    /// Streams that carry load, from 1 on.
    pub streams: u16,
    /// Bytes of a message; of a request with [`Load::RequestResponse`].
    pub size: u32,
    /// Messages are delivered without regard to order.
    pub unordered: bool,
    /// How much is sent.
    pub load: Load,
}

/// Who sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// The client.
    #[default]
    Forward,
    /// The server.
    Reverse,
    /// Both.
    Both,
}

/// How much is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// As much as goes.
    #[default]
    Saturated,
    /// So many bits of messages per second, evenly spread.
    Rate(u64),
    /// On every stream a request, its response of so many bytes, the next request, and so on.
    RequestResponse(u32),
}

/// What is taken part in, whatever the peer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest test with its omitted part.
    pub duration: Duration,
    /// Most streams of load.
    pub streams: u16,
    /// Longest message, bytes.
    pub size: u32,
    /// Most intervals.
    pub intervals: u64,
    /// Most lines of a report: intervals times streams.
    pub rows: u64,
    /// Most associations of one client's test.
    pub parallel: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(86_400),
            streams: 1024,
            size: 1 << 20,
            intervals: 10_000,
            rows: 100_000,
            parallel: 128,
        }
    }
}

/// The shortest interval, milliseconds: shorter ones would measure the measuring.
const SHORTEST_INTERVAL_MS: u64 = 10;

/// Streams beyond these are counted, but not told one by one.
pub(crate) const STREAMS_TOLD: u16 = 64;

/// Highest constant rate, bit/s.
const HIGHEST_RATE: u64 = 1_000_000_000_000;

/// A test that is not possible, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {value} is not possible (allowed: {allowed})")]
pub struct SpecError {
    field: &'static str,
    value: String,
    allowed: String,
}

impl TestSpec {
    /// Checks every field.
    ///
    /// # Errors
    /// The first that is out of bounds.
    pub fn check_limits(&self, limits: &Limits) -> Result<(), SpecError> {
        let longest = u64::try_from(limits.duration.as_millis()).unwrap_or(u64::MAX);
        let size = u64::from(limits.size);
        check_range("duration (ms)", self.duration_ms, 1, longest)?;
        check_range("omitted time (ms)", self.omit_ms, 0, longest - self.duration_ms)?;
        // Every interval tells every stream, up to a number.
        let streams = u64::from(self.streams.min(STREAMS_TOLD));
        let intervals = limits.intervals.min(limits.rows / (streams + 1)).max(1);
        let shortest = SHORTEST_INTERVAL_MS.max(self.total_ms().div_ceil(intervals));
        check_range("interval (ms)", self.interval_ms, shortest, longest.max(shortest))?;
        check_range("number of streams", self.streams.into(), 1, limits.streams.into())?;
        check_range("message size", self.size.into(), 1, size)?;
        match self.load {
            Load::Saturated => Ok(()),
            Load::Rate(rate) => check_range("rate (bit/s)", rate, 1, HIGHEST_RATE),
            Load::RequestResponse(_) if self.way != Way::Forward => Err(SpecError {
                field: "direction",
                value: format!("{:?}", self.way).to_lowercase(),
                allowed: "forward, since requests and responses go both ways".to_owned(),
            }),
            Load::RequestResponse(response) => {
                check_range("response size", response.into(), 1, size)
            }
        }
    }

    /// Omitted and measured time together, milliseconds.
    pub(crate) const fn total_ms(&self) -> u64 {
        self.omit_ms.saturating_add(self.duration_ms)
    }

    /// Time between two messages, if they come at a rate.
    pub(crate) fn message_gap(&self) -> Duration {
        match self.load {
            Load::Rate(rate) => {
                Duration::from_secs_f64(f64::from(self.size) * 8.0 / rate.max(1) as f64)
            }
            _ => Duration::ZERO,
        }
    }

    /// Whether the end sends load of its own accord.
    pub(crate) fn sends_load(&self, client: bool) -> bool {
        let other = if client { Way::Reverse } else { Way::Forward };
        !matches!(self.load, Load::RequestResponse(_)) && self.way != other
    }

    /// Whether requests are sent and answered.
    pub(crate) const fn is_request_response(&self) -> bool {
        matches!(self.load, Load::RequestResponse(_))
    }
}

fn check_range(field: &'static str, value: u64, least: u64, most: u64) -> Result<(), SpecError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SpecError { field, value: value.to_string(), allowed: format!("{least} to {most}") })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn second() -> TestSpec {
        TestSpec {
            duration_ms: 1000,
            omit_ms: 0,
            interval_ms: 1000,
            way: Way::Forward,
            streams: 1,
            size: 1444,
            unordered: false,
            load: Load::Saturated,
        }
    }

    #[test]
    fn every_bound_is_named_with_what_is_allowed() {
        let told = |change: fn(&mut TestSpec)| {
            let mut spec = second();
            change(&mut spec);
            spec.check_limits(&Limits::default()).unwrap_err().to_string()
        };
        assert_eq!(second().check_limits(&Limits::default()), Ok(()));
        let duration = "duration (ms) 0 is not possible (allowed: 1 to 86400000)";
        assert_eq!(told(|s| s.duration_ms = 0), duration);
        assert!(told(|s| s.duration_ms = u64::MAX).starts_with("duration"));
        assert!(told(|s| s.omit_ms = u64::MAX).starts_with("omitted"));
        assert!(told(|s| s.interval_ms = 1).contains("10 to"));
        assert!(told(|s| s.streams = 0).contains("1 to 1024"));
        assert!(told(|s| s.size = 1 << 21).contains("1 to 1048576"));
        assert!(told(|s| s.load = Load::Rate(0)).starts_with("rate"));
        assert!(told(|s| s.load = Load::RequestResponse(0)).starts_with("response"));
        let both = |s: &mut TestSpec| (s.way, s.load) = (Way::Both, Load::RequestResponse(1));
        assert!(told(both).contains("forward"));
    }

    #[test]
    fn many_short_intervals_are_refused() {
        let spec = TestSpec { duration_ms: 1_000_000, interval_ms: 10, ..second() };
        let error = spec.check_limits(&Limits::default()).unwrap_err().to_string();
        assert!(error.contains("allowed: 100 to"), "{error}");
    }
}
