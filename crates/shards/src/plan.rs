//! Plans: all that a machine has to know to run a part of the work.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use polypath_experiments::output::Output;
use polypath_experiments::store::{Key, stack_version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ShardError;
use crate::selftest::run_selftest;

/// The file of a plan in its folder.
const FILE: &str = "plan.json";
/// Bytes of a plan, at most: delivery traces are part of it.
const MAX_BYTES: u64 = 256 << 20;

/// What is run, and what every machine must agree on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the sources that a run depends on.
    pub stack: String,
    /// What [`run_selftest`] found where the plan was made.
    pub selftest: String,
    /// What is run.
    pub work: Work,
    /// The files that it names, by their paths.
    pub files: BTreeMap<PathBuf, String>,
}

/// What is run, and what a later round does not change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Work {
    /// A scenario over all values of its axes.
    Sweep {
        /// What stands for the scenario's file in messages.
        name: String,
        /// The scenario with its axes, as TOML.
        scenario: String,
        /// What is reported.
        metrics: Vec<String>,
        /// Seeds of each point.
        seeds: SeedRange,
    },
    /// Experiments of papers, or of one's own.
    Reproduce {
        /// Their files: of the plan, or of the program.
        experiments: Vec<PathBuf>,
        /// They are part of the program.
        carried: bool,
        /// Fewer seeds, shorter runs.
        quick: bool,
        /// So many seeds, whatever the files say.
        seeds: Option<u32>,
        /// With alternatives that are not judged in full.
        sensitivity: bool,
    },
    /// Networks drawn at random.
    Population {
        /// Its seed.
        seed: u64,
        /// Packets of a run, about.
        packets: u64,
        /// How many.
        draws: u64,
        /// Other path schedulers to compare with.
        schedulers: Vec<String>,
    },
}

/// Seeds by their place: 0 is the scenario's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeedRange {
    /// The first of this round; those before it belong to earlier ones.
    pub from: u32,
    /// One behind the last.
    pub to: u32,
}

impl Plan {
    /// A plan of this machine and program.
    ///
    /// # Errors
    /// When the machine cannot run at all.
    pub fn new(work: Work, files: BTreeMap<PathBuf, String>) -> Result<Self, ShardError> {
        Ok(Self { stack: stack_version().to_owned(), selftest: run_selftest()?, work, files })
    }

    /// Eight hexadecimal digits that stand for the plan.
    pub fn id(&self) -> String {
        let id = Key::from_content(self.to_json().as_bytes()).to_string();
        id.chars().take(8).collect()
    }

    /// The plan without what later rounds change.
    pub(crate) fn without_round(&self) -> Self {
        let mut plan = self.clone();
        if let Work::Sweep { seeds, .. } = &mut plan.work {
            *seeds = SeedRange { from: 0, to: 0 };
        }
        plan
    }

    /// A plan is plain data, which always has a JSON text.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Writes it into a folder, which is made if it is missing, and says where.
    ///
    /// # Errors
    /// When the folder takes no files.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ShardError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| ShardError::File { path, error }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let path = folder.join(FILE);
        let mut out = Output::create(&path).map_err(failed(&path))?;
        out.write_all(self.to_json().as_bytes()).map_err(failed(&path))?;
        out.keep_file().map_err(failed(&path))?;
        Ok(path)
    }

    /// Reads the plan of a folder.
    ///
    /// # Errors
    /// When there is none, or it is malformed.
    pub fn read(folder: &Path) -> Result<Self, ShardError> {
        let path = if folder.is_dir() { folder.join(FILE) } else { folder.to_owned() };
        let mut text = String::new();
        let read = fs::File::open(&path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
        read.map_err(|error| ShardError::File { path: path.clone(), error })?;
        if text.len() as u64 > MAX_BYTES {
            let problem = format!("longer than {MAX_BYTES} bytes");
            return Err(ShardError::NoPlan { path, problem });
        }
        let plan: Self = match serde_json::from_str(&text) {
            Ok(plan) => plan,
            Err(error) => return Err(ShardError::NoPlan { path, problem: error.to_string() }),
        };
        match plan.work.find_problem() {
            None => Ok(plan),
            Some(problem) => Err(ShardError::NoPlan { path, problem: problem.to_owned() }),
        }
    }

    /// Refuses a plan of another program.
    ///
    /// # Errors
    /// When the sources differ.
    pub fn check_stack(&self) -> Result<(), ShardError> {
        let own = stack_version();
        if self.stack == own {
            return Ok(());
        }
        Err(ShardError::OtherStack { plan: self.stack.clone(), own: own.to_owned() })
    }

    /// Refuses a machine that computes other bits than the plan's.
    ///
    /// # Errors
    /// When they differ, or the machine cannot run at all.
    pub fn check_machine(&self) -> Result<(), ShardError> {
        let own = run_selftest()?;
        if self.selftest == own {
            return Ok(());
        }
        Err(ShardError::OtherBits { plan: self.selftest.clone(), own })
    }
}

impl Work {
    /// The command that it is of.
    pub const fn command(&self) -> &'static str {
        match self {
            Self::Sweep { .. } => "sweep",
            Self::Reproduce { .. } => "reproduce",
            Self::Population { .. } => "population",
        }
    }

    /// What its shards are made of.
    pub const fn unit(&self) -> &'static str {
        match self {
            Self::Sweep { .. } | Self::Reproduce { .. } => "runs",
            Self::Population { .. } => "draws",
        }
    }

    /// What the commands would not have planned: a plan may be of anybody.
    pub(crate) fn find_problem(&self) -> Option<&'static str> {
        match self {
            Self::Sweep { seeds, .. } if seeds.from >= seeds.to || seeds.to > 100_000 => {
                Some("seeds (allowed: up to 100000 of each point)")
            }
            Self::Reproduce { seeds: Some(seeds), .. } if !(1..=100_000).contains(seeds) => {
                Some("seeds (allowed: up to 100000 of each point)")
            }
            Self::Population { draws, .. } if !(1..=1_000_000).contains(draws) => {
                Some("draws (allowed: 1 to 1000000)")
            }
            Self::Population { packets, .. } if !(1_000..=100_000_000).contains(packets) => {
                Some("packets (allowed: 1000 to 100000000)")
            }
            _ => None,
        }
    }
}
