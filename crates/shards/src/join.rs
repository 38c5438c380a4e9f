//! Reading segments back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use globset::Glob;
use polypath_experiments::reproduce::estimate_cost;
use polypath_experiments::store::{Damage, Store, glance_at_segment, read_texts};
use polypath_population::Record;

use crate::error::ShardError;
use crate::plan::{Plan, SeedRange, Work};
use crate::prepare::Prepared;
use crate::shard::{Shard, number_jobs};
use crate::worker::About;

/// Segments of one plan and its rounds.
#[derive(Debug)]
pub struct Joined {
    /// The plan, with the seeds of all rounds.
    pub plan: Plan,
    /// Its rounds, as they were planned, each with its number of shards.
    rounds: Vec<(Plan, u32)>,
    /// Runs, where the plan is of some.
    pub store: Store,
    /// Draws, where it is of some, by number.
    pub records: Vec<Record>,
    /// Damaged places.
    pub damage: Vec<(PathBuf, Damage)>,
}

/// The segments that words mean: files, folders with files `*.seg`, and patterns of file names.
///
/// # Errors
/// When a word means none.
pub fn find_segments(words: &[PathBuf]) -> Result<Vec<PathBuf>, ShardError> {
    let mut found = Vec::new();
    for word in words {
        let before = found.len();
        if word.is_dir() {
            found.extend(matching_files(word, "*.seg")?);
        } else if word.is_file() {
            found.push(word.clone());
        } else if let (Some(folder), Some(pattern)) = (word.parent(), word.file_name()) {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            found.extend(matching_files(folder, &pattern.to_string_lossy())?);
        }
        if found.len() == before {
            return Err(ShardError::NoSegments(word.display().to_string()));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The files of a folder whose names match, by name.
pub(crate) fn matching_files(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, ShardError> {
    let malformed = |_| ShardError::NoSegments(folder.join(pattern).display().to_string());
    let matcher = Glob::new(pattern).map_err(malformed)?.compile_matcher();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.file_name().is_some_and(|name| matcher.is_match(name)))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    Ok(paths)
}

/// What segments say of themselves, each with its file. Those of no shard are left out.
pub(crate) fn read_abouts(paths: &[PathBuf]) -> Result<Vec<(PathBuf, About)>, ShardError> {
    let mut abouts = Vec::new();
    for path in paths {
        let (about, _) = glance_at_segment(path)?;
        abouts
            .extend(about.and_then(|text| About::from_json(&text)).map(|own| (path.clone(), own)));
    }
    Ok(abouts)
}

/// Joins segments: of one plan, and of later rounds of it.
///
/// # Errors
/// When there are none, one cannot be read, or they do not belong together.
pub fn join_segments(words: &[PathBuf]) -> Result<Joined, ShardError> {
    let paths = find_segments(words)?;
    let abouts = read_abouts(&paths)?;
    let Some((first, about)) = abouts.first() else {
        let words: Vec<String> = words.iter().map(|word| word.display().to_string()).collect();
        return Err(ShardError::NoSegments(words.join(" ")));
    };
    let mut plan = about.plan.clone();
    plan.check_stack()?;
    let common = plan.without_round();
    let mut rounds: BTreeMap<String, (Plan, u32)> = BTreeMap::new();
    for (path, other) in &abouts {
        if other.plan.without_round() != common {
            return Err(ShardError::MixedPlans { one: path.clone(), other: first.clone() });
        }
        if let (Work::Sweep { seeds, .. }, Work::Sweep { seeds: own, .. }) =
            (&mut plan.work, &other.plan.work)
        {
            *seeds = SeedRange { from: seeds.from.min(own.from), to: seeds.to.max(own.to) };
        }
        rounds.entry(other.plan.id()).or_insert_with(|| (other.plan.clone(), other.of));
    }
    let (mut store, mut records, mut damage) = (Store::in_memory(), Vec::new(), Vec::new());
    if let Work::Population { draws, .. } = &plan.work {
        let texts = read_texts(&paths)?;
        let parsed = texts.lines.iter().filter_map(|line| serde_json::from_str(line).ok());
        let by_number: BTreeMap<u64, Record> =
            parsed.map(|record: Record| (record.number, record)).collect();
        records.extend(by_number.into_values().filter(|record| record.number < *draws));
        damage.extend(texts.damage);
    } else {
        store = Store::of_segments(&paths)?;
        damage.extend(store.damage().iter().cloned());
    }
    let rounds = rounds.into_values().collect();
    Ok(Joined { plan, rounds, store, records, damage })
}

impl Joined {
    /// Number of runs or draws.
    pub fn count_rows(&self) -> usize {
        self.store.len() + self.records.len()
    }

    /// The shards of which runs or draws are missing, each with how many of how many; their plans'
    /// names stand before them.
    ///
    /// # Errors
    /// When the plan makes no sense to this program.
    pub fn find_missing(&self) -> Result<Vec<(String, Shard, usize, usize)>, ShardError> {
        let mut missing = Vec::new();
        for (plan, of) in &self.rounds {
            let prepared = plan.prepare()?;
            // By shard: what it lacks, and all that it has.
            let mut counts = vec![(0, 0); *of as usize + 1];
            let mut count = |number: u32, is_there: bool| {
                if let Some((lacks, all)) = counts.get_mut(number as usize) {
                    *lacks += usize::from(!is_there);
                    *all += 1;
                }
            };
            if let Prepared::Population(draws) = &prepared {
                let there: BTreeSet<u64> = self.records.iter().map(|one| one.number).collect();
                (0..draws.draws).for_each(|draw| {
                    count(Shard::of_draw(draw, *of), there.contains(&draw));
                });
            } else {
                let jobs = plan.choose_jobs(&prepared);
                let costs: Vec<f64> = jobs.iter().map(estimate_cost).collect();
                let numbers = number_jobs(&costs, *of);
                let jobs = jobs.iter().map(|job| self.store.has_run(&job.key));
                numbers.zip(jobs).for_each(|(number, is_there)| count(number, is_there));
            }
            for (number, (lacks, all)) in (0..).zip(counts).filter(|(_, (lacks, _))| *lacks > 0) {
                missing.push((plan.id(), Shard { number, of: *of }, lacks, all));
            }
        }
        Ok(missing)
    }
}
