//! Arguments of what has to do with shards.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// What stands below the options of `worker`.
pub(crate) const WORKER_HELP: &str = "\
A shard that was ended is run again by the same command, and goes on where it
was. While a process runs a shard, another one of the same is refused.

Exit codes: 0 the shard is whole, 1 it is not, 2 bad input, or a plan of another
program, 3 this machine computes other bits than the plan's.

Examples:
  polypath sweep crossing.toml --seeds 1000 --plan plan
  polypath worker plan --shard 17/400 --out out
  polypath worker plan --selftest
  polypath sweep --from 'out/*.seg'";

/// What stands below the options of `verify`.
pub(crate) const VERIFY_HELP: &str = "\
Exit codes: 0 all are the same, 1 some differ, 2 bad input.

Examples:
  polypath verify out --sample 0.1%
  polypath verify 'lab/*.seg' --sample 100% --json";

/// For commands whose runs may be made elsewhere.
#[derive(Debug, ClapArgs)]
pub(crate) struct PlanArgs {
    /// Write a plan for `polypath worker` into this folder, and run nothing.
    #[arg(long, value_name = "DIR")]
    pub(crate) plan: Option<PathBuf>,
    /// Take the runs from these segments, folders or patterns such as 'out/*.seg', and run nothing;
    /// what is run stands in them.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) from: Vec<PathBuf>,
    /// With --from: say what there is, also while runs are missing.
    #[arg(long, requires = "from")]
    pub(crate) partial: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WorkerArgs {
    /// Folder of the plan.
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Which shard, of how many: 1/8 to 8/8.
    #[arg(long, value_name = "I/N", required_unless_present = "selftest")]
    pub(crate) shard: Option<String>,
    /// Folder for the shard's segment.
    #[arg(long, value_name = "DIR", required_unless_present = "selftest")]
    pub(crate) out: Option<PathBuf>,
    /// Runs at the same time; 0: one per core.
    #[arg(long, default_value_t = 0)]
    pub(crate) jobs: usize,
    /// Only see whether this program and machine are fit for the plan.
    #[arg(long)]
    pub(crate) selftest: bool,
    /// Print JSON instead of a line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// Segments, folders with some, or patterns.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) segments: Vec<PathBuf>,
    /// Share of the runs that are made again; at least one is.
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub(crate) sample: String,
    /// Another seed chooses other runs.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print JSON instead of a line.
    #[arg(long)]
    pub(crate) json: bool,
}
