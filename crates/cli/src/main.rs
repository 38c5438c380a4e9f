//! The `polypath` command: reads arguments, calls the libraries, prints.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 the run failed, 2 bad input, 3 a
//! right or a program is missing, 130 interrupted; `emulate` passes on its command's, `send` and
//! `receive` have a list of their own in their help.

mod args;
mod compare;
mod cross_check;
mod demo;
mod emulate;
mod failure;
mod input;
mod interrupt;
mod list;
mod output;
mod perf;
mod plot;
mod population;
mod progress;
mod quantity;
mod renamed;
mod reproduce;
mod simulate;
mod stack;
mod sweep;
mod transfer;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};
use crate::failure::Failure;

/// Messages are made by one thread and dropped by another all the time, which costs the C library's
/// allocator a third of what a receiver of small messages spends.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    interrupt::install_handler();
    renamed::hint_at_new_word(std::env::args_os().nth(1).as_deref());
    match dispatch_command(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report_to_user(),
    }
}

fn dispatch_command(command: Command) -> Result<(), Failure> {
    match command {
        Command::Simulate(args) => simulate::simulate(&args),
        Command::Demo(args) => demo::demo(&args),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Perf(args) => perf::perf(&args),
        Command::Send(args) => transfer::send(&args),
        Command::Receive(args) => transfer::receive(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Population(args) => population::population(&args),
        Command::Plot(args) => plot::plot(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::CrossCheck(args) => cross_check::cross_check(&args),
        Command::Policies(args) => list::print_policies(args.json),
        Command::Metrics => list::print_metrics(),
        Command::Schema(_) => list::print_schema(),
        Command::Init(args) => list::write_example(args.file.as_deref()),
        Command::Completions(args) => list::print_completions(args.shell),
    }
}
