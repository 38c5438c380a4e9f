//! `polypath emulate`.

mod command;
mod words;

use std::path::Path;

use polypath_emu::{Bounds, Emulation, Error, Host, Measurement, NetworkSpec};
use polypath_experiments::output::Output;
use polypath_run::read_scenario;
use polypath_testbed::{Capture, EmulationReport, left_out, network_spec};

use crate::args::{EmulateArgs, Side};
use crate::emulate::command::Programs;
use crate::failure::{Failure, unwritten};
use crate::{input, interrupt, output};

pub(crate) fn emulate(args: &EmulateArgs) -> Result<(), Failure> {
    let scenario = read_scenario(&input::source(&args.scenario, &args.set)?)?;
    for what in left_out(&scenario) {
        eprintln!("not emulated: {what}");
    }
    let mut spec = network_spec(&scenario, args.seed.unwrap_or(scenario.seeds.first))?;
    spec.frame_overhead = args.frame_overhead;
    let capture = args.pcap.as_deref().map(|path| begin_capture(path, &spec)).transpose()?;
    interrupt::hold();
    let emulation = Emulation::build(spec)?;
    eprint!("{}", words::hosts(&emulation));
    let measured = if args.no_check { Vec::new() } else { measure(&emulation)? };
    if let Some(capture) = &capture {
        capture.attach(&emulation)?;
    }
    let code = run(args, &emulation)?;
    let report = EmulationReport::new(&measured, &emulation.stats()?);
    eprint!("{}", words::ending(&report));
    drop(emulation);
    if let (Some(capture), Some(path)) = (capture, &args.pcap) {
        let out = capture.finish().map_err(|error| unwritten(path, &error))?;
        out.map_or(Ok(()), Output::keep).map_err(|error| unwritten(path, &error))?;
    }
    if args.json {
        output::json(&report)?;
    }
    if code == 0 { Ok(()) } else { Err(Failure::status(code)) }
}

/// The file appears under its name once the capture is whole.
fn begin_capture(path: &Path, spec: &NetworkSpec) -> Result<Capture<Output>, Failure> {
    let out = Output::create(path).map_err(|error| unwritten(path, &error))?;
    Capture::new(out, spec).map_err(|error| unwritten(path, &error))
}

/// Measures the network, and fails when it is not what the scenario says.
fn measure(emulation: &Emulation) -> Result<Vec<Measurement>, Failure> {
    let bounds = Bounds::default();
    let measured = emulation.measure(&bounds)?;
    eprint!("{}", words::measured(&measured));
    let faults: Vec<_> = measured.iter().filter_map(|route| route.fault(&bounds)).collect();
    if faults.is_empty() {
        return Ok(measured);
    }
    let faults = faults.join("; ");
    Err(Failure::run(format!("this machine does not keep up: {faults}; --no-check runs anyway")))
}

/// Runs what is to be run, and returns its exit code.
fn run(args: &EmulateArgs, emulation: &Emulation) -> Result<u8, Failure> {
    let mut programs = Programs::new(emulation);
    if let Some(server) = &args.server {
        programs.beside(Host::Server, server)?;
    }
    let host = match args.inside {
        Side::Client => Host::Client,
        Side::Server => Host::Server,
    };
    emulation.start()?;
    let Some((program, arguments)) = args.command.split_first() else {
        eprint!("{}", words::how_to_enter(emulation));
        command::wait_for_interrupt();
        return Ok(0);
    };
    programs.run(host, program, arguments)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Spec(_) => Self::input(error),
            error if error.is_missing_requirement() => Self::missing(error),
            error => Self::run(error),
        }
    }
}
