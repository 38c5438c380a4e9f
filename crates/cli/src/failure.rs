//! Every error ends here: one line on stderr and an exit code.

use core::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;

use polypath_experiments::recording::RecordError;
use polypath_report::ReportError;
use polypath_run::RunError;
use polypath_scenario::{AssignmentError, ScenarioError};

/// Why the command did not do its job.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The run failed.
    pub(crate) fn run_failed(message: impl Display) -> Self {
        Self::with_code(1, message)
    }

    /// The input is bad.
    pub(crate) fn bad_input(message: impl Display) -> Self {
        Self::with_code(2, message)
    }

    /// The machine or the user's rights lack something.
    pub(crate) fn missing_requirement(message: impl Display) -> Self {
        Self::with_code(3, message)
    }

    /// A program that was run on the user's behalf ended so, and has said why itself.
    pub(crate) fn from_status(code: u8) -> Self {
        Self::with_code(code, "")
    }

    /// Anything else, with the exit code that the command's help names.
    pub(crate) fn with_code(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string() }
    }

    pub(crate) const fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Says it on stderr, and gives the exit code.
    pub(crate) fn report_to_user(self) -> u8 {
        if !self.message.is_empty() {
            // Where nobody reads it, the exit code says it.
            let _ = writeln!(io::stderr(), "polypath: {}", self.message);
        }
        self.code
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::bad_input(error)
    }
}

impl From<AssignmentError> for Failure {
    fn from(error: AssignmentError) -> Self {
        Self::bad_input(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        if error.is_bad_input() { Self::bad_input(error) } else { Self::run_failed(error) }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        if error.is_bad_input() { Self::bad_input(error) } else { Self::run_failed(error) }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        if error.is_bad_input() { Self::bad_input(error) } else { Self::run_failed(error) }
    }
}

/// A file that could not be written.
pub(crate) fn file_not_written(path: &Path, error: &impl Display) -> Failure {
    Failure::run_failed(format!("{}: cannot be written: {error}", path.display()))
}
