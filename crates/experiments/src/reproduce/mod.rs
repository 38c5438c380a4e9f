//! From experiment files to verdicts: which runs are needed, making them, judging the claims.

mod claim;
mod deviation;
mod execute;
mod judge;
mod paper;
mod reading;
mod study;
mod sweep;

pub use claim::{ClaimReport, ReadingFinding};
pub use deviation::Deviation;
pub use execute::{ExecuteError, execute_jobs};
pub use judge::{ExperimentReport, Flip, SensitivityReport, judge_study};
pub use paper::PaperFigureReport;
pub use reading::ReadingReport;
pub use study::{Job, Options, Stored, Study, collect_jobs, prepare_study};
pub use sweep::{Measured, Seeds, SweepError, SweepRow, Swept, point_bindings, run_sweep};
