//! The draws that ours does worst on.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::ratio::{is_below, to_best_path};
use crate::application::Application;
use crate::feature::Feature;
use crate::record::Record;

/// So many of them are named.
const NAMED: usize = 10;

/// A draw below the best path alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Worst {
    /// Its number.
    pub number: u64,
    /// Ours over the best path alone.
    pub ratio: f64,
    /// How many paths it has.
    pub paths: usize,
    /// Name of the best path.
    pub best: String,
    /// What is sent.
    pub application: Application,
    /// What makes the network less than ideal.
    pub features: BTreeSet<Feature>,
}

/// The worst draws below the best path alone, the worst first.
pub(crate) fn worst_of(records: &[Record]) -> Vec<Worst> {
    let mut below: Vec<&Record> = records.iter().filter(|record| is_below(record)).collect();
    below.sort_by(|a, b| to_best_path(a).total_cmp(&to_best_path(b)));
    let worst = |record: &&Record| Worst {
        number: record.number,
        ratio: to_best_path(record),
        paths: record.paths,
        best: record.alone.best.clone(),
        application: record.application,
        features: record.features.clone(),
    };
    below.iter().take(NAMED).map(worst).collect()
}
