//! What is known of a draw once it was run, and the file that keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use polypath_run::RunError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::Application;
use crate::draw::{Draw, Impossible, Population};
use crate::feature::Feature;
use crate::reference::{
    Alone, Outcome, limit_of_draw, round_to_thousandth, run_paths_alone, run_scenario,
};

/// A draw and its references.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The population's seed.
    pub seed: u64,
    /// Packets that a run may carry.
    pub packets: u64,
    /// The draw's number.
    pub number: u64,
    /// What its scenario and the stack are, as stored runs have it: a record of another program is
    /// not taken for one of this.
    #[serde(default)]
    pub key: String,
    /// How many paths it has.
    pub paths: usize,
    /// What is sent.
    pub application: Application,
    /// What makes the network less than ideal.
    pub features: BTreeSet<Feature>,
    /// Draws before this one that were no scenarios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Impossible>,
    /// Profile `fast` on all paths.
    pub ours: Outcome,
    /// The best path alone.
    pub alone: Alone,
    /// What the network admits, payload bit/s, where that is defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// The same stack with other path schedulers, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, Outcome>,
}

impl Record {
    /// Runs a draw: ours, the best path alone, and the schedulers that are named.
    ///
    /// # Errors
    /// A scenario that cannot run; drawn ones can.
    pub fn of_draw(draw: &Draw, packets: u64, schedulers: &[String]) -> Result<Self, RunError> {
        let (scenario, application) = (&draw.scenario, draw.application);
        let with = |scheduler: &String| {
            let mut other = scenario.clone();
            other.stack.path_scheduler = Some(scheduler.clone());
            Ok((scheduler.clone(), run_scenario(&other, application)?))
        };
        Ok(Self {
            seed: draw.seed,
            packets,
            number: draw.number,
            key: draw.key(),
            paths: scenario.path_names().count(),
            application,
            features: draw.features.clone(),
            rejected: draw.rejected.clone(),
            ours: run_scenario(scenario, application)?,
            alone: run_paths_alone(scenario, application)?,
            limit: limit_of_draw(draw).map(round_to_thousandth),
            others: schedulers.iter().map(with).collect::<Result<_, RunError>>()?,
        })
    }
}

/// Why records cannot be kept or found again.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// Records of before would be lost.
    #[error("{}: there are draws already (allowed: --resume, or another --out)", .0.display())]
    Exists(PathBuf),
    /// A file or folder that cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line that is no record.
    #[error("{}:{line}: no draw: {error} (allowed: lines of this program)", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Why.
        error: serde_json::Error,
    },
}

/// Records of draws in a file, one JSON value per line, so that an interrupted run loses nothing.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    file: File,
    known: Vec<Record>,
}

impl Records {
    /// The name of the file in its folder.
    pub const FILE: &'static str = "draws.jsonl";

    /// Opens the file in `folder`, which is made if it is missing. `resume` keeps what is there.
    ///
    /// # Errors
    /// When there are records that `resume` does not ask for, or what there is cannot be read.
    pub fn open(folder: &Path, resume: bool) -> Result<Self, RecordsError> {
        let path = folder.join(Self::FILE);
        let failed = |error| RecordsError::File { path: path.clone(), error };
        fs::create_dir_all(folder).map_err(failed)?;
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(failed)?,
        };
        if !text.is_empty() && !resume {
            return Err(RecordsError::Exists(path));
        }
        // A line that was being written when the program was ended has no end of line.
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        let known = parse_lines(&path, text.get(..whole).unwrap_or_default())?;
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        file.set_len(whole as u64).map_err(failed)?;
        Ok(Self { path, file, known })
    }

    /// Records of before of a population's draw that have all these schedulers. Their keys tell
    /// which program they are of.
    pub fn find_records(
        &self,
        population: Population,
        number: u64,
        schedulers: &[String],
    ) -> impl Iterator<Item = &Record> {
        let Population { seed, packets } = population;
        self.known.iter().filter(move |record| {
            (record.seed, record.packets, record.number) == (seed, packets, number)
                && schedulers.iter().all(|name| record.others.contains_key(name))
        })
    }

    /// Adds a record, as one line at once.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_record(&mut self, record: &Record) -> Result<(), RecordsError> {
        let failed = |error| RecordsError::File { path: self.path.clone(), error };
        let line = serde_json::to_string(record).map_err(|error| failed(error.into()))? + "\n";
        self.file.write_all(line.as_bytes()).map_err(failed)
    }
}

fn parse_lines(path: &Path, text: &str) -> Result<Vec<Record>, RecordsError> {
    let parse = |(n, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| RecordsError::Malformed {
            path: path.to_owned(),
            line: n + 1,
            error,
        })
    };
    text.lines().enumerate().map(parse).collect()
}
