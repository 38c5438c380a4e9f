//! How late frames were.

use hdrhistogram::Histogram;
use polypath_link::Nanos;

/// Beyond a minute it does not matter how late.
const LATEST: u64 = 60_000_000_000;

/// By how much frames were handed to their host after they were due, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Frames delivered.
    pub frames: u64,
    /// Half of them were at most so late.
    pub median: Nanos,
    /// 99 % of them were at most so late.
    pub p99: Nanos,
    /// 99.9 % of them were at most so late.
    pub p999: Nanos,
    /// The latest one.
    pub max: Nanos,
}

/// Collects them, each exact to one per cent.
#[derive(Debug)]
pub(crate) struct Recorder(Option<Histogram<u64>>);

impl Recorder {
    pub(crate) fn new() -> Self {
        Self(Histogram::new_with_bounds(1, LATEST, 2).ok())
    }

    pub(crate) fn record_delay(&mut self, late: Nanos) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(late);
        }
    }

    pub(crate) fn summary(&self) -> Lateness {
        let Some(histogram) = &self.0 else { return Lateness::default() };
        Lateness {
            frames: histogram.len(),
            median: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
        }
    }
}
