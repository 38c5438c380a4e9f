//! Captures and traces of runs in files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use polypath_run::{Recording, RunError};

use crate::output::Output;

/// Files that a run writes beside its result.
#[derive(Debug, Default)]
pub struct RecordingFiles {
    /// Every packet, as pcapng.
    pub pcap: Option<RecordingFile>,
    /// Every trace event, as JSON lines.
    pub trace: Option<RecordingFile>,
}

/// One of them.
#[derive(Debug)]
pub struct RecordingFile {
    /// Its name, for messages.
    pub path: PathBuf,
    /// Where it goes.
    pub out: Output,
}

impl RecordingFile {
    /// Begins to write a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let out = Output::create(path).map_err(|error| file_not_written(path, error))?;
        Ok(Self { path: path.to_owned(), out })
    }
}

/// Why a run did not end, or its files were not written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The run itself.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file could not be written.
    #[error("{}: cannot be written: {error}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl RecordError {
    /// Whether the user's input is at fault, and not the run.
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::Run(error) => error.is_bad_input(),
            Self::File { .. } => false,
        }
    }
}

/// Has `run` write its recording into these files, which get their names once it has ended well.
///
/// # Errors
/// Those of the run, and of files that cannot be written.
pub fn with_recording<T>(
    mut files: RecordingFiles,
    run: impl FnOnce(Recording<'_>) -> Result<T, RunError>,
) -> Result<T, RecordError> {
    let recording = Recording {
        pcap: files.pcap.as_mut().map(|file| &mut file.out as &mut dyn Write),
        trace: files.trace.as_mut().map(|file| &mut file.out as &mut dyn Write),
    };
    let result = run(recording).map_err(|error| files.name_in(error))?;
    for RecordingFile { path, out } in [files.pcap, files.trace].into_iter().flatten() {
        out.keep_file().map_err(|error| file_not_written(&path, error))?;
    }
    Ok(result)
}

impl RecordingFiles {
    /// The error with the name of the file, if one is meant.
    fn name_in(&self, error: RunError) -> RecordError {
        match (error, &self.pcap, &self.trace) {
            (RunError::Capture(error), Some(file), _) => file_not_written(&file.path, error),
            (RunError::Trace(error), _, Some(file)) => file_not_written(&file.path, error),
            (error, ..) => error.into(),
        }
    }
}

fn file_not_written(path: &Path, error: io::Error) -> RecordError {
    RecordError::File { path: path.to_owned(), error }
}
