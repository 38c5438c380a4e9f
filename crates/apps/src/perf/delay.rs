//! How long messages took.

use hdrhistogram::Histogram;

use super::report::Delay;

/// Delays of messages, in microseconds, one percent exact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    /// Made for the first delay.
    histogram: Option<Box<Histogram<u64>>>,
}

/// Longer ones count as this, microseconds: ten hours.
const LONGEST: u64 = 36_000_000_000;

impl Delays {
    pub(crate) fn record_delay(&mut self, nanoseconds: u64) {
        if self.histogram.is_none() {
            // It grows with the values that it is given; two digits are always possible.
            self.histogram = Histogram::new(2).ok().map(|mut histogram: Histogram<u64>| {
                histogram.auto(true);
                Box::new(histogram)
            });
        }
        if let Some(histogram) = &mut self.histogram {
            // It grows to the longest without fail.
            let _ = histogram.record((nanoseconds / 1000).min(LONGEST));
        }
    }

    pub(crate) fn clear(&mut self) {
        if let Some(histogram) = &mut self.histogram {
            histogram.reset();
        }
    }

    /// `None` if there were no delays.
    pub(crate) fn summary(&self) -> Option<Delay> {
        let histogram = self.histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Some(Delay {
            count: histogram.len(),
            mean: histogram.mean() / 1e3,
            min: histogram.min() as f64 / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max() as f64 / 1e3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_one_percent_exact() {
        let mut delays = Delays::default();
        assert_eq!(delays.summary(), None);
        (1..=1000).for_each(|ms| delays.record_delay(ms * 1_000_000));
        let told = delays.summary().unwrap();
        for (value, expected) in [(told.p50, 500.0), (told.p99, 990.0), (told.max, 1000.0)] {
            assert!((value - expected).abs() <= expected * 0.01, "{value} {expected}");
        }
        assert_eq!(told.count, 1000);
        delays.clear();
        assert_eq!(delays.summary(), None);
    }

    #[test]
    fn absurd_delays_stay_bounded() {
        let mut delays = Delays::default();
        delays.record_delay(u64::MAX);
        delays.record_delay(0);
        assert!(delays.summary().unwrap().max <= LONGEST as f64);
    }
}
