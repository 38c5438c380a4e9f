//! Runs one scenario once, with captures and traces where they are wanted.

use std::io;
use std::path::{Path, PathBuf};

use polypath_capture::pcapng::WriteError;
use polypath_capture::trace::TraceWriter;
use polypath_policies::PolicyError;
use polypath_sim::{Observer, Pcap, RunResult, SpecError, WorldSpec};

use crate::output::Output;
use crate::scenario::Scenario;
use crate::world::world_spec;

/// Files that a run writes beside its result.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Every packet, as pcapng.
    pub pcap: Option<PathBuf>,
    /// Every trace event, as JSON lines.
    pub trace: Option<PathBuf>,
}

/// Why a run did not end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error("the scenario cannot run: {0}")]
    Spec(#[from] SpecError),
    /// A policy does not exist.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A file could not be written.
    #[error("{}: cannot be written: {error}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl RunError {
    /// Whether the user's input is at fault, and not the run.
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, Self::Spec(_) | Self::Policy(_))
    }
}

/// Runs a checked scenario once. `progress` hears from 0 to 1 how far it is.
///
/// # Errors
/// When the world cannot be built or a file cannot be written.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    files: &Files,
    progress: &mut dyn FnMut(f64),
) -> Result<RunResult, RunError> {
    let spec = world_spec(scenario, files.trace.is_some())?;
    run_world(&spec, seed, files, progress)
}

/// Runs a world once; see [`run`].
///
/// # Errors
/// When the world cannot be built or a file cannot be written.
pub fn run_world(
    spec: &WorldSpec,
    seed: u64,
    files: &Files,
    progress: &mut dyn FnMut(f64),
) -> Result<RunResult, RunError> {
    let pcap = files.pcap.as_deref().map(open_pcap).transpose()?;
    let trace = files.trace.as_deref().map(open_trace).transpose()?;
    let mut observer = ((pcap, trace), Progress(progress));
    let result = polypath_sim::run(spec, seed, Some(&mut observer))?;
    let (pcap, trace) = observer.0;
    if let (Some(pcap), Some(path)) = (pcap, &files.pcap) {
        let out = pcap.finish().map_err(|error| write_error(path, error))?;
        out.keep().map_err(|error| file_error(path, error))?;
    }
    if let (Some(trace), Some(path)) = (trace, &files.trace) {
        let out = trace.finish().map_err(|error| file_error(path, error))?;
        out.keep().map_err(|error| file_error(path, error))?;
    }
    Ok(result)
}

fn open_pcap(path: &Path) -> Result<Pcap<Output>, RunError> {
    let out = Output::create(path).map_err(|error| file_error(path, error))?;
    Pcap::new(out).map_err(|error| write_error(path, error))
}

fn open_trace(path: &Path) -> Result<TraceWriter<Output>, RunError> {
    let out = Output::create(path).map_err(|error| file_error(path, error))?;
    Ok(TraceWriter::new(out))
}

pub(crate) fn write_error(path: &Path, error: WriteError) -> RunError {
    file_error(path, io::Error::other(error))
}

pub(crate) fn file_error(path: &Path, error: io::Error) -> RunError {
    RunError::File { path: path.to_owned(), error }
}

/// Passes on how far the run is.
struct Progress<'a>(&'a mut dyn FnMut(f64));

impl Observer for Progress<'_> {
    fn progress(&mut self, fraction: f64) {
        (self.0)(fraction);
    }
}
