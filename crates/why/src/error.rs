//! Why a trace explains nothing.

use std::io;

/// Why a trace was not read or not explained, in one line.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// The input failed.
    #[error("{file}: cannot be read: {error}")]
    Input {
        /// The trace.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// A line is none of a trace.
    #[error("{file}, line {line}: {problem} (allowed: lines as --trace writes them)")]
    Line {
        /// The trace.
        file: String,
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// No association is in it.
    #[error(
        "{0}: no association (allowed: a trace of this version, from before the association was \
         set up)"
    )]
    Nothing(String),
    /// Of no association both ends are there.
    #[error(
        "{files}: one end alone, {host} of {flow} (allowed: a trace with both ends, or two traces \
         of one association)"
    )]
    OneEnd {
        /// What was read.
        files: String,
        /// The end that is there.
        host: String,
        /// Its association.
        flow: String,
    },
    /// Several associations, and none was chosen.
    #[error("{files}: several associations (allowed: --flow with one of {flows})")]
    Several {
        /// What was read.
        files: String,
        /// Their names.
        flows: String,
    },
    /// Several associations of the name that was asked for.
    #[error(
        "--flow {flow}: several associations of this name in {files} (allowed: a trace in which \
         one has it)"
    )]
    SeveralOfName {
        /// What was asked for.
        flow: String,
        /// What was read.
        files: String,
    },
    /// There is no association of this name.
    #[error("--flow {flow}: not in {files} (allowed: {flows})")]
    NoFlow {
        /// What was asked for.
        flow: String,
        /// What was read.
        files: String,
        /// The names of those that are there.
        flows: String,
    },
    /// The two files have no packet in common that would set their clocks.
    #[error("{0}: no data that both ends saw, so their clocks cannot be compared")]
    NoClock(String),
}
