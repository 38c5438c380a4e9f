//! What streams wait for.

use crate::ids::{PathId, StreamId};
use crate::time::Duration;

/// The oldest data of an outbound stream that is not acknowledged in any way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamWait {
    /// Which stream.
    pub stream: StreamId,
    /// What it waits for.
    pub on: WaitsFor,
    /// For how long: since the latest transmission of that data, or since it was handed in where it
    /// was not sent yet.
    pub since: Duration,
    /// For how long its oldest message of which nothing, or not all, was sent waits for that.
    pub unsent: Option<Duration>,
}

/// What the oldest data of a stream waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitsFor {
    /// An acknowledgement of what went out on this path.
    Acknowledgement(PathId),
    /// To be sent again: it was declared lost on this path.
    Retransmission(PathId),
    /// To be sent for the first time.
    Sending,
}
