//! Other schedulers.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::interval::{Portion, portion_of};
use super::ratio::{TOLERANCE, geometric_mean, ratio_of};
use crate::record::Record;

/// Ours against another scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// Its name.
    pub scheduler: String,
    /// Geometric mean over all draws of ours over it.
    pub mean: f64,
    /// Draws in which it is better than ours by more than 1 %.
    pub better: Portion,
    /// Draws in which it is below the best path alone by more than 1 %.
    pub below: Portion,
}

/// Ours against whichever other scheduler is best in a draw, which nobody knows before.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BestOther {
    /// Geometric mean over all draws of ours over it.
    pub mean: f64,
    /// Draws in which it is better than ours by more than 1 %.
    pub better: Portion,
}

/// Every other scheduler that all draws were run with, the best first.
pub(crate) fn against_each(records: &[Record]) -> Vec<Against> {
    let mut names: BTreeSet<&str> = match records.first() {
        Some(first) => first.others.keys().map(String::as_str).collect(),
        None => return Vec::new(),
    };
    names.retain(|name| records.iter().all(|record| record.others.contains_key(*name)));
    let mut all: Vec<Against> = names.into_iter().map(|name| against(records, name)).collect();
    all.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    all
}

fn against(records: &[Record], name: &str) -> Against {
    let other = |record: &Record| record.others.get(name).map_or(0.0, |other| other.performance);
    let ours: Vec<f64> =
        records.iter().map(|record| ratio_of(record.ours.performance, other(record))).collect();
    let below = |record: &&Record| {
        ratio_of(other(record), record.alone.outcome.performance) < 1.0 - TOLERANCE
    };
    Against {
        scheduler: name.to_owned(),
        mean: geometric_mean(&ours),
        better: count_better(&ours),
        below: portion_of(records.iter().filter(below).count(), records.len()),
    }
}

/// `None` where no other scheduler was run.
pub(crate) fn against_best(records: &[Record]) -> Option<BestOther> {
    let ratios: Vec<f64> = records.iter().filter_map(to_best_other).collect();
    let better = count_better(&ratios);
    (!ratios.is_empty()).then(|| BestOther { mean: geometric_mean(&ratios), better })
}

fn to_best_other(record: &Record) -> Option<f64> {
    let best = record.others.values().map(|other| other.performance).reduce(f64::max)?;
    Some(ratio_of(record.ours.performance, best))
}

fn count_better(ours: &[f64]) -> Portion {
    let worse = ours.iter().filter(|ratio| **ratio < 1.0 / (1.0 + TOLERANCE)).count();
    portion_of(worse, ours.len())
}
