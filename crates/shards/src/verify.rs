//! Running a few rows again: whether segments of another machine say what this one finds.

use core::str::FromStr;
use std::path::PathBuf;

use polypath_experiments::reproduce::{Job, run_job};
use polypath_experiments::store::Key;
use polypath_population::run_draw;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ShardError;
use crate::join::{Joined, join_segments};
use crate::prepare::Prepared;

/// Rows that differ and are named, at most.
const MOST_NAMED: usize = 10;

/// Which rows are run again.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Their share, above 0 up to 1.
    pub share: f64,
    /// Another seed takes other rows.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Verified {
    /// Rows that there are.
    pub rows: usize,
    /// Rows that were run again.
    pub compared: usize,
    /// Those that came to other bits.
    pub different: usize,
    /// The first ten of them: their keys, or the numbers of draws.
    pub named: Vec<String>,
}

impl Sample {
    fn has(&self, name: &[u8]) -> bool {
        let mut bytes = self.seed.to_le_bytes().to_vec();
        bytes.extend(name);
        let key = Key::from_content(&bytes).to_bytes();
        let number = key.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        (number as f64) < self.share * 2.0_f64.powi(64)
    }
}

impl FromStr for Sample {
    type Err = ShardError;

    /// A share such as `0.1%` or `0.001`.
    fn from_str(text: &str) -> Result<Self, ShardError> {
        let share = polypath_experiments::experiment::parse_amount(text);
        let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
        let share = share.ok_or_else(|| ShardError::NoShare(text.to_owned()))?;
        Ok(Self { share, seed: 0 })
    }
}

/// Runs a sample of the rows again, on all cores, and compares them bit by bit; at least one row.
/// `progress` hears how much is done, from 0 to 1.
///
/// # Errors
/// When segments cannot be read, or a run cannot be made.
pub fn verify_segments(
    words: &[PathBuf],
    sample: Sample,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Verified, ShardError> {
    let joined = join_segments(words)?;
    let outcomes = match joined.plan.prepare()? {
        Prepared::Population(plan) => {
            let chosen = choose(&joined.records, sample, |record| record.key.as_bytes().to_vec());
            again(&chosen, progress, |record| {
                let same = run_draw(&plan, record.number)? == **record;
                Ok((!same).then(|| format!("draw {}", record.number)))
            })?
        }
        prepared => {
            let mut jobs = joined.plan.choose_jobs(&prepared);
            jobs.retain(|job| joined.store.has_run(&job.key));
            let chosen = choose(&jobs, sample, |job| job.key.to_bytes().to_vec());
            again(&chosen, progress, |job| compare_run(&joined, job))?
        }
    };
    let different: Vec<String> = outcomes.iter().flatten().cloned().collect();
    Ok(Verified {
        rows: joined.count_rows(),
        compared: outcomes.len(),
        different: different.len(),
        named: different.into_iter().take(MOST_NAMED).collect(),
    })
}

fn choose<T>(all: &[T], sample: Sample, name: impl Fn(&T) -> Vec<u8>) -> Vec<&T> {
    let chosen: Vec<&T> = all.iter().filter(|one| sample.has(&name(one))).collect();
    if chosen.is_empty() { all.iter().take(1).collect() } else { chosen }
}

fn again<T: Sync>(
    chosen: &[&T],
    progress: &(dyn Fn(f64) + Sync),
    compare: impl Fn(&&T) -> Result<Option<String>, ShardError> + Sync,
) -> Result<Vec<Option<String>>, ShardError> {
    let done = std::sync::atomic::AtomicUsize::new(0);
    let one = |one: &&T| {
        let outcome = compare(one)?;
        let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        progress(done as f64 / chosen.len() as f64);
        Ok(outcome)
    };
    chosen.par_iter().map(one).collect()
}

/// The name of a run that differs.
fn compare_run(joined: &Joined, job: &Job) -> Result<Option<String>, ShardError> {
    let kept = joined.store.find_row(&job.key)?;
    let same = kept.is_some_and(|kept| run_job(job).is_ok_and(|made| made.is_identical(&kept)));
    Ok((!same).then(|| format!("run {} (seed {})", job.key, job.seed)))
}
