//! Draws that have something in common.

use schemars::JsonSchema;
use serde::Serialize;

use super::interval::{Portion, portion_of};
use super::quantiles::Quantiles;
use super::ratio::{LATENESS, is_below, to_best_path, to_limit, to_p99};
use crate::record::Record;

/// How draws compare with the best path alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// What they have in common.
    pub name: String,
    /// Those below the best path alone by more than 1 %.
    pub below: Portion,
    /// Ours over the best path alone; `None` without draws.
    pub ratio: Option<Quantiles>,
    /// Where lateness counts: those whose 99th percentile is above 1.1 times the best path's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Portion>,
}

/// How draws compare with the limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LimitGroup {
    /// What they have in common.
    pub name: String,
    /// Those that have a limit.
    pub draws: usize,
    /// Ours over the limit; `None` without draws.
    pub ratio: Option<Quantiles>,
}

impl Group {
    pub(crate) fn of_records<'a>(
        name: &str,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Self {
        let records: Vec<&Record> = records.into_iter().collect();
        let below = records.iter().filter(|record| is_below(record)).count();
        let p99: Vec<f64> = records.iter().filter_map(|record| to_p99(record)).collect();
        let late = p99.iter().filter(|ratio| **ratio > LATENESS).count();
        Self {
            name: name.to_owned(),
            below: portion_of(below, records.len()),
            ratio: Quantiles::of_values(records.iter().map(|one| to_best_path(one)).collect()),
            late: (!p99.is_empty()).then(|| portion_of(late, p99.len())),
        }
    }
}

impl LimitGroup {
    pub(crate) fn of_records<'a>(
        name: &str,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Self {
        let ratios: Vec<f64> = records.into_iter().filter_map(to_limit).collect();
        let draws = ratios.len();
        Self { name: name.to_owned(), draws, ratio: Quantiles::of_values(ratios) }
    }
}
