//! The `polypath` command: reads arguments, calls the libraries, prints. [`run_command`] is all of
//! it, for programs that bring path schedulers of their own.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 the run failed, 2 bad input, 3 a
//! right or a program is missing, 130 interrupted; `emulate` passes on its command's, `send`,
//! `receive`, `forward`, `serve`, `doctor` and `perf` have a list of their own in their help.
//!
//! ```no_run
//! use polypath_policies::Registry;
//!
//! // Registry::add and Registry::with_own_schedulers bring policies of your own.
//! let registry = Registry::builtin();
//! let code = polypath_cli::run_command(std::env::args_os(), registry);
//! std::process::exit(code.into());
//! ```
//!
//! # Features
//! - `pictures` (on by default): `plot` and `sweep --plot` make PNG and PDF beside SVG.
//! - `parquet` (off by default): `reproduce` and `sweep` write Parquet beside CSV.

mod args;
mod compare;
mod control;
mod cross_check;
mod demo;
mod doctor;
mod emulate;
mod examples;
mod failure;
mod forward;
mod input;
mod interrupt;
mod keys;
mod list;
mod man;
mod output;
mod perf;
mod plot;
mod population;
mod progress;
mod quantity;
mod reach;
mod recording;
mod renamed;
mod reproduce;
mod schema;
mod shards;
mod simulate;
mod stack;
mod store;
mod sweep;
mod talk;
mod transfer;
mod usage;
mod why;

use std::ffi::OsString;

use clap::Parser as _;
use polypath_experiments::disk::read_policy_file;
use polypath_policies::Registry;
use polypath_scenario::Policies;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::talk::Talk;

/// Runs the command with these arguments, the program's name first. Scenarios may name the
/// policies of `registry`, which gets the files of this machine.
///
/// It listens for Ctrl-C from here on, and prints to stdout and stderr: call it once,
/// from the program's main thread. The result is its exit code.
pub fn run_command(arguments: impl IntoIterator<Item = OsString>, registry: Registry) -> u8 {
    interrupt::install_handler();
    let policies = Policies::new(registry.with_files(read_policy_file));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    renamed::hint_at_new_word(arguments.get(1).map(OsString::as_os_str));
    let done = Args::try_parse_from(arguments)
        .map_err(|error| usage::refuse(&error))
        .and_then(|args| dispatch_command(args.command, Talk::new(args.quiet), &policies));
    match done {
        Ok(()) => 0,
        Err(failure) => failure.report_to_user(),
    }
}

fn dispatch_command(command: Command, talk: Talk, policies: &Policies) -> Result<(), Failure> {
    match command {
        Command::Simulate(args) => simulate::simulate(&args, talk, policies),
        Command::Demo(args) => demo::demo(&args, talk),
        Command::Emulate(args) => emulate::emulate(&args, talk, policies),
        Command::Perf(args) => perf::perf(&args, talk),
        Command::Send(mut args) => {
            args.common.quiet = talk.is_quiet();
            transfer::send(&args)
        }
        Command::Receive(mut args) => {
            args.common.quiet = talk.is_quiet();
            transfer::receive(&args)
        }
        Command::Doctor(args) => doctor::doctor(*args, talk),
        Command::Forward(args) => forward::forward(*args, talk),
        Command::Serve(args) => forward::serve(&args, talk),
        Command::Top(args) => control::top(&args),
        Command::Ss(args) => control::ss(&args, talk),
        Command::Control(args) => control::control(&args),
        Command::Exporter(args) => control::exporter(&args, talk),
        Command::Id(args) => keys::id(&args, talk),
        Command::Reproduce(args) => reproduce::reproduce(&args, talk),
        Command::Sweep(args) => sweep::sweep(&args, talk, policies),
        Command::Population(args) => population::population(&args, talk, policies),
        Command::Worker(args) => shards::worker(&args, talk),
        Command::Verify(args) => shards::verify(&args, talk),
        Command::Plot(args) => plot::plot(&args),
        Command::Why(args) => why::why(&args),
        Command::Compare(args) => compare::compare(&args, talk),
        Command::CrossCheck(args) => cross_check::cross_check(&args, talk, policies),
        Command::Policies(args) => list::print_policies(args.json),
        Command::Metrics(args) => list::print_metrics(args.json),
        Command::Schema(args) => schema::print_schema(args.of),
        Command::Examples(args) => examples::examples(&args, talk),
        Command::Init(args) => list::write_example(args.file.as_deref(), talk),
        Command::Completions(args) => list::print_completions(args.shell),
        Command::Man(args) => man::man(&args, talk),
    }
}
