//! The `polypath` command: reads arguments, calls the libraries, prints.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 the run failed, 2 bad input, 3 a
//! right or a program is missing, 130 interrupted; `emulate` passes on its command's, `send`,
//! `receive` and `perf` have a list of their own in their help.

mod args;
mod compare;
mod cross_check;
mod demo;
mod emulate;
mod examples;
mod failure;
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
mod recording;
mod renamed;
mod reproduce;
mod schema;
mod simulate;
mod stack;
mod sweep;
mod talk;
mod transfer;
mod usage;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::talk::Talk;

/// Messages are made by one thread and dropped by another all the time, which costs the C library's
/// allocator a third of what a receiver of small messages spends.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    interrupt::install_handler();
    renamed::hint_at_new_word(std::env::args_os().nth(1).as_deref());
    let done = Args::try_parse()
        .map_err(|error| usage::refuse(&error))
        .and_then(|args| dispatch_command(args.command, Talk::new(args.quiet)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report_to_user(),
    }
}

fn dispatch_command(command: Command, talk: Talk) -> Result<(), Failure> {
    match command {
        Command::Simulate(args) => simulate::simulate(&args, talk),
        Command::Demo(args) => demo::demo(&args, talk),
        Command::Emulate(args) => emulate::emulate(&args, talk),
        Command::Perf(args) => perf::perf(&args, talk),
        Command::Send(mut args) => {
            args.common.quiet = talk.is_quiet();
            transfer::send(&args)
        }
        Command::Receive(mut args) => {
            args.common.quiet = talk.is_quiet();
            transfer::receive(&args)
        }
        Command::Id(args) => keys::id(&args, talk),
        Command::Reproduce(args) => reproduce::reproduce(&args, talk),
        Command::Sweep(args) => sweep::sweep(&args, talk),
        Command::Population(args) => population::population(&args, talk),
        Command::Plot(args) => plot::plot(&args),
        Command::Compare(args) => compare::compare(&args, talk),
        Command::CrossCheck(args) => cross_check::cross_check(&args, talk),
        Command::Policies(args) => list::print_policies(args.json),
        Command::Metrics(args) => list::print_metrics(args.json),
        Command::Schema(args) => schema::print_schema(args.of),
        Command::Examples(args) => examples::examples(&args, talk),
        Command::Init(args) => list::write_example(args.file.as_deref(), talk),
        Command::Completions(args) => list::print_completions(args.shell),
        Command::Man(args) => man::man(&args, talk),
    }
}
