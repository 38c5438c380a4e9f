//! The figures of one run.

use std::sync::Arc;

use polypath_run::metrics::MetricValues;

/// The metrics of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub(super) names: Arc<[String]>,
    pub(super) values: Vec<Option<f64>>,
}

impl Row {
    /// The row that holds these metrics.
    pub fn from_metrics(metrics: MetricValues) -> Self {
        let (names, values): (Vec<_>, _) = metrics.0.into_iter().unzip();
        Self { names: names.into(), values }
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<f64>)> {
        self.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }

    /// The value of a figure; `None`: not a figure of this run.
    pub fn find_metric(&self, name: &str) -> Option<Option<f64>> {
        let at = self.names.iter().position(|known| known == name)?;
        self.values.get(at).copied()
    }

    /// Whether every figure is the same to the bit.
    pub fn is_identical(&self, other: &Self) -> bool {
        let bits = |row: &Self| -> Vec<Option<u64>> {
            row.values.iter().map(|value| value.map(f64::to_bits)).collect()
        };
        self.names == other.names && bits(self) == bits(other)
    }
}
