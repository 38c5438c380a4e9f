//! The time series of a flow over the measuring time.

use polypath_sim::RunResult;
use polypath_sim::results::{FlowResult, PathSample, Sample};

/// The samples of the measuring time.
#[derive(Debug)]
pub(super) struct TimeSeries<'a> {
    samples: Vec<&'a Sample>,
}

impl<'a> TimeSeries<'a> {
    pub(super) fn from_result(flow: &'a FlowResult, result: &RunResult) -> Self {
        let from = result.end.saturating_sub(result.measured);
        Self { samples: flow.samples.iter().filter(|sample| sample.at >= from).collect() }
    }

    pub(super) fn mean(&self, of: impl Fn(&Sample) -> u64) -> Option<f64> {
        let sum: f64 = self.samples.iter().map(|sample| of(sample) as f64).sum();
        (!self.samples.is_empty()).then(|| sum / self.samples.len() as f64)
    }

    pub(super) fn max(&self, of: impl Fn(&Sample) -> u64) -> Option<u64> {
        self.samples.iter().map(|sample| of(sample)).max()
    }

    pub(super) fn min(&self, of: impl Fn(&Sample) -> u64) -> Option<u64> {
        self.samples.iter().map(|sample| of(sample)).min()
    }

    /// The mean of what a path shows; a path that is not there yet counts as zero.
    pub(super) fn path_mean(&self, path: usize, of: fn(&PathSample) -> u64) -> Option<f64> {
        self.mean(|sample| sample.paths.get(path).map_or(0, of))
    }

    /// Its greatest value.
    pub(super) fn path_max(&self, path: usize, of: fn(&PathSample) -> u64) -> Option<f64> {
        self.max(|sample| sample.paths.get(path).map_or(0, of)).map(|max| max as f64)
    }

    /// Samples with the one that follows each.
    pub(super) fn sample_pairs(&self) -> impl Iterator<Item = (&Sample, &Sample)> {
        self.samples.iter().zip(self.samples.iter().skip(1)).map(|(one, next)| (*one, *next))
    }
}
