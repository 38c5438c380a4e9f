//! How far shards are, told by their files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use polypath_experiments::store::glance_at_segment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ShardError;
use crate::join::matching_files;
use crate::worker::About;

/// A shard and its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShardProgress {
    /// Which one, counted from 1.
    pub number: u32,
    /// Runs or draws that are kept.
    pub done: u64,
    /// Those that it has once it is whole.
    pub due: u64,
    /// It has its name, so nothing will be added.
    pub is_whole: bool,
}

/// A plan in its shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkProgress {
    /// The plan's name.
    pub plan: String,
    /// How many shards it has.
    pub shards: u32,
    /// Those that were begun, by number.
    pub begun: Vec<ShardProgress>,
}

impl WorkProgress {
    /// Shards that are whole.
    pub fn count_whole(&self) -> usize {
        self.begun.iter().filter(|shard| shard.is_whole).count()
    }

    /// The share of runs that are kept, as far as it is known: shards that were not begun are taken
    /// to be as large as the others.
    pub fn fraction(&self) -> f64 {
        let done: u64 = self.begun.iter().map(|shard| shard.done).sum();
        let due: u64 = self.begun.iter().map(|shard| shard.due).sum();
        let all = due as f64 * f64::from(self.shards) / self.begun.len().max(1) as f64;
        if all > 0.0 { (done as f64 / all).min(1.0) } else { 0.0 }
    }

    /// Whether there is nothing left to wait for.
    pub fn is_whole(&self) -> bool {
        self.count_whole() == self.shards as usize
    }
}

/// How far the shards in these folders are, by plan. What is being written is looked at, too; what
/// cannot be read yet counts the next time.
///
/// # Errors
/// When a folder's files cannot be listed.
pub fn watch_segments(folders: &[PathBuf]) -> Result<Vec<WorkProgress>, ShardError> {
    let mut plans: BTreeMap<(String, u32), BTreeMap<u32, ShardProgress>> = BTreeMap::new();
    for folder in folders {
        for (pattern, is_whole) in [("*.part*", false), ("*.seg", true)] {
            for path in matching_files(folder, pattern)? {
                let Ok((Some(text), done)) = glance_at_segment(&path) else { continue };
                let Some(about) = About::from_json(&text) else { continue };
                let (number, due) = (about.number, about.rows);
                let own = ShardProgress { number, done: done.min(due), due, is_whole };
                let shards = plans.entry((about.plan.id(), about.of)).or_default();
                let known = shards.entry(number).or_insert(own);
                if (own.is_whole, own.done) > (known.is_whole, known.done) {
                    *known = own;
                }
            }
        }
    }
    let progress = |((plan, shards), begun): ((String, u32), BTreeMap<u32, ShardProgress>)| {
        WorkProgress { plan, shards, begun: begun.into_values().collect() }
    };
    Ok(plans.into_iter().map(progress).collect())
}
