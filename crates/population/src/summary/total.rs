//! The summary of a population.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::against::{Against, BestOther, against_best, against_each};
use super::group::{Group, LimitGroup};
use super::members::{Members, application_members, class_members, feature_members, limit_members};
use super::worst::{Worst, worst_of};
use crate::draw::{Impossible, Population};
use crate::record::Record;

/// What all draws say together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// The population's seed.
    pub seed: u64,
    /// Packets that a run may carry.
    pub packets: u64,
    /// Draws that were run.
    pub draws: usize,
    /// Draws that were no scenarios and were taken again, by the reason.
    pub rejected: BTreeMap<Impossible, usize>,
    /// All draws, and the classes that bars are set for.
    pub classes: Vec<Group>,
    /// Draws by application.
    pub applications: Vec<Group>,
    /// Draws by feature; a draw may be in several of them.
    pub features: Vec<Group>,
    /// Against the limit, by application.
    pub limits: Vec<LimitGroup>,
    /// Other schedulers, the best first.
    pub schedulers: Vec<Against>,
    /// The best other scheduler of each draw.
    pub best_other: Option<BestOther>,
    /// The worst draws below the best path alone.
    pub worst: Vec<Worst>,
}

impl Summary {
    /// Summarizes the records of a population.
    pub fn of_records(population: Population, records: &[Record]) -> Self {
        let mut rejected = BTreeMap::new();
        for impossible in records.iter().flat_map(|record| &record.rejected) {
            *rejected.entry(*impossible).or_default() += 1;
        }
        Self {
            seed: population.seed,
            packets: population.packets,
            draws: records.len(),
            rejected,
            classes: groups(class_members(records)),
            applications: groups(application_members(records)),
            features: groups(feature_members(records)),
            limits: limit_members(records)
                .into_iter()
                .map(|(name, members)| LimitGroup::of_records(name, members))
                .collect(),
            schedulers: against_each(records),
            best_other: against_best(records),
            worst: worst_of(records),
        }
    }
}

fn groups(members: Vec<Members<'_>>) -> Vec<Group> {
    members.into_iter().map(|(name, members)| Group::of_records(name, members)).collect()
}
