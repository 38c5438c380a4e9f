//! From experiment files to verdicts: which runs are needed, making them, judging the claims.

mod claim;
mod deviation;
mod execute;
mod job;
mod judge;
mod paper;
mod points;
mod reading;
mod study;
mod sweep;

pub use claim::{ClaimReport, ReadingFinding};
pub use deviation::Deviation;
pub use execute::{ExecuteError, JobError, execute_jobs, execute_until, run_job};
pub use job::{Job, estimate_cost};
pub use judge::{ExperimentReport, Flip, SensitivityReport, judge_study};
pub use paper::PaperFigureReport;
pub use points::{PointRun, Points, Stored};
pub use reading::ReadingReport;
pub use study::{Options, Study, collect_jobs, prepare_study};
pub use sweep::{
    FIRST_SEEDS, Measured, Seeds, SweepError, SweepRow, Swept, judge_sweep, next_seeds,
    point_bindings, prepare_sweep, run_sweep, widest_interval,
};
