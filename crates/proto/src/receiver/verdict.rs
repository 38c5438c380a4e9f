//! What becomes of what the peer sends beside DATA.

use crate::ids::{Mid, Ssn, StreamId};

/// What became of a FORWARD-TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardVerdict {
    /// The cumulative TSN moved.
    Taken,
    /// It says nothing new: our SACK may have been lost.
    Stale,
    /// No sender that keeps to the window can have sent so many TSNs: to be answered with ABORT, cause Protocol Violation.
    TooFar,
}

/// What of a stream is given up: messages up to a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GivenUpTo {
    /// Ordered ones.
    Ssn(Ssn),
    /// Ordered or unordered ones, of I-DATA.
    Mid { unordered: bool, mid: Mid },
}

/// What became of a request to reset inbound streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResetVerdict {
    /// It is done; these streams (none: all).
    Performed(Vec<StreamId>),
    /// It is done when everything that was sent before has arrived.
    Deferred,
    /// Another one waits for that.
    Busy,
    /// No sender that keeps to the window has sent so much.
    TooFar,
}

/// A reset that was deferred: its request and its streams, or how the peer broke the rules.
pub(crate) type FinishedReset = Result<(u32, Vec<StreamId>), &'static str>;
