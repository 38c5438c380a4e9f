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
mod progress;
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
    interrupt::handle();
    renamed::hint(std::env::args_os().nth(1).as_deref());
    match dispatch(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Simulate(args) => simulate::simulate(&args),
        Command::Demo(args) => demo::demo(&args),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Perf(args) => perf::perf(&args),
        Command::Send(args) => transfer::send(&args),
        Command::Receive(args) => transfer::receive(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Plot(args) => plot::plot(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::CrossCheck(args) => cross_check::cross_check(&args),
        Command::Policies(args) => list::policies(args.json),
        Command::Schema(_) => list::schema(),
        Command::Init(args) => list::init(args.file.as_deref()),
        Command::Completions(args) => list::completions(args.shell),
    }
}
