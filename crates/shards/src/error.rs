//! What goes wrong with plans and shards.

use std::io;
use std::path::PathBuf;

use polypath_experiments::reproduce::{ExecuteError, JobError, SweepError};
use polypath_experiments::store::StoreError;
use polypath_scenario::ScenarioError;

/// Why a plan, a shard or a join did not work, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// A file or folder.
    #[error("{}: {error}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A plan that is none.
    #[error("{}: no plan: {problem} (allowed: what --plan wrote)", path.display())]
    NoPlan {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The plan is of other sources.
    #[error("the plan is of stack {plan}, this program of {own} (allowed: the same program)")]
    OtherStack {
        /// The plan's.
        plan: String,
        /// This program's.
        own: String,
    },
    /// The plan's machine and this one come to different bits.
    #[error(
        "this machine computes other bits than the plan's: {own} and {plan} (allowed: the static \
         program, which brings its own mathematics)"
    )]
    OtherBits {
        /// The plan's.
        plan: String,
        /// This machine's.
        own: String,
    },
    /// A number of a shard.
    #[error("{0:?}: no shard (allowed: 1/1 to 1000000/1000000, such as 17/400)")]
    NoShard(String),
    /// A share of runs.
    #[error("{0:?}: no share (allowed: above 0 up to 100%, such as 0.1%)")]
    NoShare(String),
    /// Another process runs this shard.
    #[error("{}: another process is writing it", .0.display())]
    Busy(PathBuf),
    /// There is nothing to join.
    #[error("{0}: no segments (allowed: folders and patterns with files *.seg of shards)")]
    NoSegments(String),
    /// Segments that do not belong together.
    #[error(
        "{} is of another plan than {} (allowed: segments of one plan and its later rounds)",
        one.display(),
        other.display()
    )]
    MixedPlans {
        /// One.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// The plan is of another command.
    #[error("the segments are of `{0}` (allowed: polypath {0} --from)")]
    OtherCommand(&'static str),
    /// Policies that no file has.
    #[error(
        "path scheduler {0:?} is no file of a plan (allowed: built-in ones, and learned?file=)"
    )]
    OwnScheduler(String),
    /// The scenario or experiment.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The sweep.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A run that is made again.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A draw.
    #[error(transparent)]
    Population(#[from] polypath_population::ExecuteError),
    /// Segments.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The threads.
    #[error("--jobs: {0}")]
    Jobs(#[from] rayon::ThreadPoolBuildError),
}

impl ShardError {
    /// Whether what was asked for is at fault, and not the run.
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::File { .. }
            | Self::Busy(_)
            | Self::OtherBits { .. }
            | Self::Execute(_)
            | Self::Job(_)
            | Self::Store(_)
            | Self::Population(
                polypath_population::ExecuteError::Run { .. }
                | polypath_population::ExecuteError::Records(_),
            ) => false,
            Self::Sweep(error) => !matches!(error, SweepError::Run(_) | SweepError::Store(_)),
            _ => true,
        }
    }
}
