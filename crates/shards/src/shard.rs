//! Which part of the work a shard is.

use core::fmt;
use core::str::FromStr;
use std::ops::Range;

use crate::error::ShardError;

/// Shards of a plan, at most.
const MOST: u32 = 1_000_000;
/// Costs of a shard, ms of one core: long enough that its start does not count, short enough to be
/// run again.
const WANTED_COST: f64 = 120_000.0;

/// One of so many parts, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

impl Shard {
    /// Whether there may be such a shard.
    pub(crate) fn is_possible(&self) -> bool {
        (1..=self.of).contains(&self.number) && self.of <= MOST
    }

    /// The jobs of this shard, of jobs with these costs: the parts follow each other, and each has
    /// nearly the same cost.
    pub fn choose_jobs(self, costs: &[f64]) -> Range<usize> {
        let numbers = || number_jobs(costs, self.of);
        let before = numbers().take_while(|number| *number < self.number).count();
        let up_to = numbers().take_while(|number| *number <= self.number).count();
        before..up_to
    }

    /// The number of a draw's shard, of so many: nothing is known of what draws cost, so they take
    /// turns.
    pub(crate) const fn of_draw(draw: u64, of: u32) -> u32 {
        // Below `of`, so it fits.
        (draw % of as u64) as u32 + 1
    }
}

/// The number of each job's shard, of so many: it grows from job to job. A job belongs where the
/// middle of its cost lies.
pub(crate) fn number_jobs(costs: &[f64], of: u32) -> impl Iterator<Item = u32> {
    let total: f64 = costs.iter().sum();
    let mut before = 0.0;
    costs.iter().map(move |cost| {
        let middle = (before + cost / 2.0) / total;
        before += cost;
        ((middle * f64::from(of)) as u32 + 1).min(of)
    })
}

/// How many shards a plan of this cost (ms of one core) is best run in: two minutes each.
pub fn choose_shards(cost: f64) -> u32 {
    ((cost / WANTED_COST).ceil() as u32).clamp(1, MOST)
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        parts.filter(Self::is_possible).ok_or_else(|| ShardError::NoShard(text.to_owned()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(costs: &[f64], of: u32) -> Vec<Range<usize>> {
        (1..=of).map(|number| Shard { number, of }.choose_jobs(costs)).collect()
    }

    #[test]
    fn shards_have_each_job_once_and_in_order() {
        let costs: Vec<f64> =
            (0..1000).map(|n| f64::from(n % 37) * f64::from(n % 5) + 0.1).collect();
        for of in [1, 2, 7, 400, 999, 2000] {
            let all: Vec<usize> = parts(&costs, of).into_iter().flatten().collect();
            assert!(all.iter().copied().eq(0..costs.len()), "{of}");
        }
        assert!(parts(&[], 3).into_iter().all(|part| part.is_empty()));
    }

    #[test]
    fn shards_cost_the_same_but_for_one_job() {
        let costs: Vec<f64> = (0..1000).map(|n| 1.0 + f64::from(n * 7919 % 100)).collect();
        let (total, most) = (costs.iter().sum::<f64>(), 101.0);
        for part in parts(&costs, 40) {
            let cost: f64 = costs[part].iter().sum();
            assert!((cost - total / 40.0).abs() <= most, "{cost}");
        }
    }

    #[test]
    fn numbers_of_shards_are_read_and_refused() {
        let read = |text: &str| text.parse::<Shard>().ok().map(|shard| shard.to_string());
        assert_eq!(read("17/400").as_deref(), Some("17/400"));
        assert_eq!(read("1/1").as_deref(), Some("1/1"));
        for text in ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/2000000", "a/b", "1/4/5"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
