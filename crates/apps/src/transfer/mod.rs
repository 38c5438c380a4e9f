//! Files and folders over every path at once.
//!
//! The sender offers files ahead, the receiver answers what it has of them from this sender, and
//! blocks travel unordered, each with its place: no path waits for another. BLAKE3 hashes of
//! chunks, and of a file over them, go from end to end. A file gets its name when it is whole and
//! on the disk; until then it is `.NAME.ID.polypath-part`, of which the next transfer of the same
//! sender keeps what is right.
//!
//! Senders are strangers to each other: none touches, reads or learns of the files of another
//! ([`Store`], [`Identity`]).
//!
//! The futures need a tokio runtime with a timer. They read and write files on the thread that they
//! run on; what takes long goes to another.
//!
//! Whether it is encrypted, and who the peer is, the association knows.

mod codec;
mod exclude;
mod finish;
mod holes;
mod identity;
mod incoming;
mod index;
mod layout;
mod link;
mod name;
mod part;
pub mod places;
mod reading;
mod receive;
mod send;
mod shelf;
mod store;
mod target;
mod throttle;
mod tree;
mod walk;

use std::time::Duration;

use polypath_net::{Closed, SendError};

pub use codec::{CodecError, Verdict};
pub use exclude::{Exclude, ExcludeError};
pub use identity::Identity;
pub use receive::{Greeting, ReceiveOptions, await_greeting, receive};
pub use send::{SendFilesOptions, send};
pub use store::{Store, StoreOptions, discard_unused, open_files};
pub use walk::{Entry, SourceError, Sources, What};

/// Files on offer at the same time, at most, so that small ones do not wait a round trip each.
const MAX_OFFERED: usize = 1024;
/// Bytes of the names of what is on offer at the same time, at most, unless it is a single one.
const MAX_WORDS: usize = 1 << 17;

/// Hears how a transfer goes, on the transfer's thread.
pub trait Observer: Sync {
    /// What is to come, as the sender counted: files and their bytes.
    fn total(&self, _files: u64, _bytes: u64) {}
    /// A file's turn has come.
    fn file(&self, _name: &str, _bytes: u64) {}
    /// So many bytes more are there; `travelled`: they came now, and were not there before.
    fn progress(&self, _bytes: u64, _travelled: bool) {}
    /// Something that is worth a line.
    fn note(&self, _line: &str) {}
}

/// Hears nothing.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Observer for Quiet {}

/// What became of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that are now under their names.
    pub stored: u64,
    /// Files that were there already.
    pub already_there: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links.
    pub links: u64,
    /// Neither files nor folders, or links that lead out of their folder, and left out.
    pub left_out: u64,
    /// Left out because the sender's user said so; what is in such a folder is not counted.
    pub excluded: u64,
    /// Files and folders that failed.
    pub failed: u64,
    /// The first of them.
    pub failures: Vec<Failure>,
    /// Bytes of the stored files.
    pub bytes: u64,
    /// Bytes of all blocks that travelled.
    pub travelled: u64,
    /// Bytes of holes, which did not have to.
    pub holes: u64,
}

/// Failures that a report describes, at most.
const FAILURES_KEPT: usize = 100;

impl Report {
    fn note_failure(&mut self, failure: Failure, observer: &dyn Observer) {
        observer.note(&failure.to_string());
        self.failed += 1;
        if self.failures.len() < FAILURES_KEPT {
            self.failures.push(failure);
        }
    }
}

/// Why a file was not transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file, fit to be shown.
    pub name: String,
    /// The kind of trouble.
    pub cause: Cause,
    /// The trouble in words, fit to be shown.
    pub text: String,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.name, self.text)
    }
}

/// Kinds of trouble with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The sender could not read it, or it changed meanwhile.
    Source,
    /// The receiver said so.
    Receiver(Verdict),
}

/// Why a transfer ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// The association ended.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The peer stopped before everything was said.
    #[error("the peer ended the transfer early")]
    EndedEarly,
    /// Nothing came from the peer.
    #[error("the peer has been silent for {} s on every path", .0.as_secs())]
    Silent(Duration),
    /// Packets come, words do not.
    #[error("the peer's program has done nothing for {} s", .0.as_secs())]
    Mute(Duration),
    /// Nobody said hello.
    #[error("no sender has greeted within {} s", .0.as_secs())]
    NoGreeting(Duration),
    /// Another session has a file of this one.
    #[error("the same sender has begun anew in another transfer")]
    TakenOver,
    /// Not a message of this protocol.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A message that has no place here.
    #[error("the peer broke the protocol of file transfers: {0}")]
    Protocol(&'static str),
    /// A message was not taken.
    #[error("a message could not be sent: {0}")]
    Refused(SendError),
    /// The folder for received files.
    #[error("folder {folder}: {why}")]
    Folder {
        /// Which.
        folder: String,
        /// The system's word.
        why: String,
    },
}

impl From<SendError> for TransferError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Closed(closed) => Self::Closed(closed),
            other => Self::Refused(other),
        }
    }
}
