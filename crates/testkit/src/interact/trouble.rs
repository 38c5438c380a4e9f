//! What can go wrong in a run.

use polypath_proto::{CloseReason, Event};

use crate::model::Breach;
use crate::world::WorldError;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// An endpoint misbehaves towards its driver.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A promise to an application was broken.
    #[error(transparent)]
    Breach(#[from] Breach),
    /// Books that do not add up.
    #[error("host {0}: {1}")]
    Invariant(usize, String),
    /// Parts of messages that do not fit each other.
    #[error("host {0}: {1}")]
    Parts(usize, String),
    /// The peer is accused of breaking the protocol, though nobody did.
    #[error("host {0}: closed for {1:?}, but nobody broke the protocol")]
    Accused(usize, CloseReason),
    /// "Closed" is the last event.
    #[error("host {0}: {1:?} after Closed")]
    AfterClosed(usize, Event),
    /// An association is reported as closed, and is not.
    #[error("host {0}: an association that is reported as closed is not")]
    ClosedTwice(usize),
    /// Nothing moves any more.
    #[error("stuck {0}: {1}")]
    Stuck(&'static str, String),
    /// Nothing that happened explains the end.
    #[error("ended with {0:?}, though nothing happened to the association")]
    Unprovoked(Vec<CloseReason>),
    /// Too many steps.
    #[error("{0} packets and timeouts: there is no end to it")]
    Endless(u64),
    /// Packets to addresses that nobody named.
    #[error("{0} packets went to addresses that nobody named")]
    Strays(u64),
    /// The code panicked.
    #[error("panic: {0}")]
    Panic(String),
}
