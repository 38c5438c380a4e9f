//! Runs one scenario once, with captures and traces where they are wanted.

use std::io::{self, Write};

use polypath_capture::pcapng::WriteError;
use polypath_capture::trace::TraceWriter;
use polypath_policies::PolicyError;
use polypath_proto::PathId;
use polypath_scenario::Scenario;
use polypath_sim::results::Outcome;
use polypath_sim::{Observer, Pcap, RunResult, SpecError, WorldSpec};

use crate::world::world_spec;

/// What is written down of a run beside its result: nothing, unless somebody gives it a place.
#[derive(Default)]
pub struct Recording<'a> {
    /// Every packet, as pcapng.
    pub pcap: Option<&'a mut dyn Write>,
    /// Every trace event, as JSON lines.
    pub trace: Option<&'a mut dyn Write>,
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
    /// The path scheduler of a flow failed in the midst of the run.
    #[error("flow {flow}: the path scheduler failed: {why}")]
    PolicyFailed {
        /// The flow's name.
        flow: String,
        /// What the scheduler said, several lines perhaps.
        why: String,
    },
    /// The capture could not be written.
    #[error("the capture cannot be written: {0}")]
    Capture(io::Error),
    /// The trace could not be written.
    #[error("the trace cannot be written: {0}")]
    Trace(io::Error),
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
/// When the world cannot be built or a recording cannot be written.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    recording: Recording<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<RunResult, RunError> {
    let spec = world_spec(scenario, recording.trace.is_some())?;
    run_world(&spec, seed, recording, progress)
}

/// Runs a world once; see [`run`].
///
/// # Errors
/// When the world cannot be built or a recording cannot be written.
pub fn run_world(
    spec: &WorldSpec,
    seed: u64,
    recording: Recording<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<RunResult, RunError> {
    let pcap = recording.pcap.map(Pcap::new).transpose().map_err(capture_error)?;
    let mut trace = recording.trace.map(TraceWriter::new);
    if let Some(trace) = &mut trace {
        introduce_paths(spec, trace);
    }
    let mut observer = ((pcap, trace), Progress(progress));
    let result = polypath_sim::run(spec, seed, Some(&mut observer))?;
    let (pcap, trace) = observer.0;
    pcap.map_or(Ok(()), |pcap| pcap.finish().map(drop)).map_err(capture_error)?;
    trace.map_or(Ok(()), |trace| trace.finish().map(drop)).map_err(RunError::Trace)?;
    refuse_failed(&result)?;
    Ok(result)
}

/// Figures of a run whose path scheduler failed say nothing.
///
/// # Errors
/// [`RunError::PolicyFailed`] if one did.
pub fn refuse_failed(result: &RunResult) -> Result<(), RunError> {
    let failed = result.flows.iter().find_map(|flow| match &flow.outcome {
        Outcome::PolicyFailed(why) => Some((flow.name.clone(), why.clone())),
        _ => None,
    });
    failed.map_or(Ok(()), |(flow, why)| Err(RunError::PolicyFailed { flow, why }))
}

/// Tells the trace which addresses the numbers of paths stand for.
fn introduce_paths(spec: &WorldSpec, trace: &mut TraceWriter<impl Write>) {
    for flow in &spec.flows {
        for (number, addresses) in (0..).zip(&flow.paths) {
            trace.introduce_path(&flow.name, "client", 0, PathId(number), *addresses);
        }
    }
}

fn capture_error(error: WriteError) -> RunError {
    RunError::Capture(io::Error::other(error))
}

/// Passes on how far the run is.
struct Progress<'a>(&'a mut dyn FnMut(f64));

impl Observer for Progress<'_> {
    fn progress(&mut self, fraction: f64) {
        (self.0)(fraction);
    }
}
