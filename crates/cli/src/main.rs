//! The program `polypath`: the command with the policies that are part of Polypath.

use std::process::ExitCode;

use polypath_policies::Registry;

/// Messages are made by one thread and dropped by another all the time, which costs the C library's
/// allocator a third of what a receiver of small messages spends.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    polypath_cli::run_command(std::env::args_os(), Registry::builtin()).into()
}
