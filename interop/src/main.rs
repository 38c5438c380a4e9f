//! `polypath-interop`: one side of a conversation, or the matrix of all of them.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use polypath_interop::matrix::{self, Settings};
use polypath_interop::peer;

/// Polypath against usrsctp, a stack that others wrote
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hold a conversation; prints its result as one line of JSON
    #[command(after_help = "Example: polypath-interop peer client --local 10.0.1.1 \
        --remote 10.0.1.2 --send 100 --end shutdown")]
    Peer(Box<peer::Options>),
    /// Hold all conversations between Polypath and usrsctp, in network namespaces; prints a table.
    /// Needs root
    #[command(after_help = "Example: polypath-interop matrix --only restart --keep /tmp/captures")]
    Matrix {
        /// Write the table to this Markdown file, too
        #[arg(long, value_name = "FILE")]
        write: Option<PathBuf>,
        /// Only conversations whose name contains this
        #[arg(long, value_name = "TEXT", default_value = "")]
        only: String,
        /// Keep captures and results in this folder
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
        /// Conversations at the same time
        #[arg(long, value_name = "N", default_value_t = 3)]
        jobs: usize,
    },
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Peer(options) => peer::run_peer(*options),
        Command::Matrix { write, only, keep, jobs } => {
            let own = std::env::current_exe().unwrap_or_else(|_| "polypath-interop".into());
            let settings = Settings { own, only, keep, jobs };
            match matrix::report_matrix(&settings, write.as_deref()) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::FAILURE,
                Err(error) => {
                    eprintln!("{error:#}");
                    ExitCode::from(2)
                }
            }
        }
    }
}
