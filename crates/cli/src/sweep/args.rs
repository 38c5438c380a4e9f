//! Arguments of `polypath sweep`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use polypath_report::TableFormat;

use crate::shards::PlanArgs;

/// What stands below the options.
pub(crate) const SWEEP_HELP: &str = "\
Each row is a point; of two axes and more the last one goes across. Figures are
means over the seeds with half widths of 95 % intervals. The folder has every
run (runs.csv), for `polypath plot`, `polypath compare` and programs of yours.

Examples:
  polypath sweep crossing.toml --axis path.B.delay=10ms..100ms/30ms --seeds 8
  polypath sweep crossing.toml --axis path.B.loss=0%,1%,2% \\
      --axis stack.path-scheduler=rr,min-rtt --ci 2% --plot losses.pdf
  polypath sweep crossing.toml --axis path.B.loss=0%,1% --format latex
  polypath sweep crossing.toml --axis path.B.loss=0%,1% --plan plan
  polypath sweep --watch out
  polypath sweep --from 'out/*.seg' --ci 2% --plan next";

#[derive(Debug, ClapArgs)]
pub(crate) struct SweepArgs {
    /// Scenario file (TOML). Segments have theirs with them.
    #[arg(required_unless_present_any = ["from", "watch"], conflicts_with_all = ["from", "watch"])]
    pub(crate) scenario: Option<PathBuf>,
    /// One more axis: FIELD=FIRST..LAST/STEP or FIELD=A,B,C; may be repeated.
    #[arg(long, value_name = "FIELD=VALUES", conflicts_with_all = ["from", "watch"])]
    pub(crate) axis: Vec<String>,
    /// Set a field over what the file says, unless an axis sets it; may be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE", conflicts_with_all = ["from", "watch"])]
    pub(crate) set: Vec<String>,
    /// What to report, such as goodput or delay.mean (`polypath metrics` lists them); may be
    /// repeated. By default what the scenario's `metrics` say, or goodput.
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Vec<String>,
    /// Seeds per point, instead of the scenario's.
    #[arg(
        long,
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        conflicts_with_all = ["ci", "from", "watch"]
    )]
    pub(crate) seeds: Option<u32>,
    /// Add seeds until every 95 % interval is at most this share of its mean, such as 2%.
    #[arg(long, value_name = "SHARE")]
    pub(crate) ci: Option<String>,
    #[command(flatten)]
    pub(crate) shards: PlanArgs,
    /// Say how far the shards in this folder are until all are whole, and run nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from", "plan"])]
    pub(crate) watch: Vec<PathBuf>,
    /// Folder for the runs; those found there are not made again.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(crate) out: PathBuf,
    /// Write runs.csv also of more than 100,000 runs.
    #[arg(long)]
    pub(crate) export: bool,
    /// Draw the metrics over the first axis with numbers into this file; its ending says the
    /// format: .svg, .png or .pdf. `polypath plot` draws the same runs in other ways.
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Table as text, markdown, csv or latex.
    #[arg(long, value_name = "FORMAT", default_value_t, conflicts_with = "json")]
    pub(crate) format: TableFormat,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}
