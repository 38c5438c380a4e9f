//! Every error ends here: one line on stderr and an exit code.

use core::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

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
    pub(crate) fn run(message: impl Display) -> Self {
        Self::with(1, message)
    }

    /// The input is bad.
    pub(crate) fn input(message: impl Display) -> Self {
        Self::with(2, message)
    }

    /// The machine or the user's rights lack something.
    pub(crate) fn missing(message: impl Display) -> Self {
        Self::with(3, message)
    }

    /// A program that was run on the user's behalf ended so, and has said why itself.
    pub(crate) fn status(code: u8) -> Self {
        Self::with(code, "")
    }

    /// Anything else, with the exit code that the command's help names.
    pub(crate) fn with(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string() }
    }

    pub(crate) const fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn report(self) -> ExitCode {
        if !self.message.is_empty() {
            eprintln!("polypath: {}", self.message);
        }
        ExitCode::from(self.code)
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::input(error)
    }
}

impl From<AssignmentError> for Failure {
    fn from(error: AssignmentError) -> Self {
        Self::input(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        if error.is_bad_input() { Self::input(error) } else { Self::run(error) }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        if error.is_bad_input() { Self::input(error) } else { Self::run(error) }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        if error.is_bad_input() { Self::input(error) } else { Self::run(error) }
    }
}

/// A file that could not be written.
pub(crate) fn unwritten(path: &Path, error: &impl Display) -> Failure {
    Failure::run(format!("{}: cannot be written: {error}", path.display()))
}
