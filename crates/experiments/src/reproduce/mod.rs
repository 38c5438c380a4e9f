//! From experiment files to verdicts: which runs are needed, making them, judging the claims.

mod deviation;
mod execute;
mod judge;
mod study;
mod sweep;

pub use deviation::Deviation;
pub use execute::{ExecuteError, execute};
pub use judge::{ClaimReport, ExperimentReport, Flip, SensitivityReport, judge};
pub use study::{Job, Options, Stored, Study, jobs, study};
pub use sweep::{Measured, Seeds, SweepError, SweepRow, places, sweep};
