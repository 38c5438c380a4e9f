//! `polypath emulate`.

mod command;
mod words;

use std::path::Path;

use polypath_emu::{Bounds, Emulation, Error, Host, Measurement, NetworkSpec};
use polypath_experiments::output::Output;
use polypath_run::read_scenario;
use polypath_scenario::Policies;
use polypath_testbed::{Capture, EmulationReport, left_out, network_spec};

use crate::args::{EmulateArgs, Side};
use crate::emulate::command::Programs;
use crate::failure::{Failure, file_not_written};
use crate::recording::open_output;
use crate::talk::Talk;
use crate::{input, interrupt, output};

pub(crate) fn emulate(args: &EmulateArgs, talk: Talk, policies: &Policies) -> Result<(), Failure> {
    let scenario = read_scenario(&input::read_source(&args.scenario, &args.set, talk, policies)?)?;
    for what in left_out(&scenario) {
        talk.say(format_args!("not emulated: {what}"));
    }
    let mut spec = network_spec(&scenario, args.seed.unwrap_or(scenario.seeds.first))?;
    spec.frame_overhead = args.frame_overhead;
    let capture = args.pcap.as_deref().map(|path| begin_capture(path, &spec)).transpose()?;
    interrupt::hold_interrupt();
    let emulation = Emulation::build(spec)?;
    talk.say_text(words::describe_hosts(&emulation));
    let measured = if args.no_check { Vec::new() } else { verify_network(&emulation, talk)? };
    if let Some(capture) = &capture {
        capture.attach_to(&emulation)?;
    }
    let code = run_programs(args, &emulation)?;
    let report = EmulationReport::new(&measured, &emulation.stats()?);
    talk.say_text(words::describe_end(&report));
    drop(emulation);
    if let (Some(capture), Some(path)) = (capture, &args.pcap) {
        let out = capture.finish_capture().map_err(|error| file_not_written(path, &error))?;
        out.map_or(Ok(()), Output::keep_file).map_err(|error| file_not_written(path, &error))?;
    }
    if args.json {
        output::print_json(&report)?;
    }
    if code == 0 { Ok(()) } else { Err(Failure::from_status(code)) }
}

/// The file appears under its name once the capture is whole.
fn begin_capture(path: &Path, spec: &NetworkSpec) -> Result<Capture<Output>, Failure> {
    let out = open_output(path).map_err(|error| file_not_written(path, &error))?;
    Capture::new(out, spec).map_err(|error| file_not_written(path, &error))
}

/// Measures the network, and fails when it is not what the scenario says.
fn verify_network(emulation: &Emulation, talk: Talk) -> Result<Vec<Measurement>, Failure> {
    let bounds = Bounds::default();
    let measured = emulation.measure_routes(&bounds)?;
    talk.say_text(words::describe_measurements(&measured));
    let faults: Vec<_> =
        measured.iter().filter_map(|route| route.describe_fault(&bounds)).collect();
    if faults.is_empty() {
        return Ok(measured);
    }
    let faults = faults.join("; ");
    Err(Failure::run_failed(format!(
        "this machine does not keep up: {faults}; --no-check runs anyway"
    )))
}

/// Runs what is to be run, and returns its exit code.
fn run_programs(args: &EmulateArgs, emulation: &Emulation) -> Result<u8, Failure> {
    let mut programs = Programs::new(emulation);
    if let Some(server) = &args.server {
        programs.start_background_command(Host::Server, server)?;
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
    programs.run_program(host, program, arguments)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Spec(_) => Self::bad_input(error),
            error if error.is_missing_requirement() => Self::missing_requirement(error),
            error => Self::run_failed(error),
        }
    }
}
