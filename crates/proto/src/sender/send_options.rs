//! How a message is handed in: what the application says about it, and why it may be refused.

use crate::ids::StreamId;
use crate::time::Duration;

/// What the application says about a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Deliver it as soon as it is complete, without regard to order (U bit).
    pub unordered: bool,
    /// Payload protocol identifier, passed on untouched.
    pub ppid: u32,
    /// Ask for its acknowledgement at once (I bit, RFC 7053).
    pub immediate: bool,
    /// How long, or how often, its delivery is tried.
    pub reliability: Reliability,
}

/// How long, or how often, the delivery of a message is tried. Where the peer does not know of it
/// (RFC 3758 section 3.3), only messages of which nothing was sent yet are abandoned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliability {
    /// Until it is delivered.
    #[default]
    Full,
    /// For so long: after that nothing of it is sent any more, or again.
    Timed(Duration),
    /// Chunks of it are retransmitted so many times each; 0: never.
    Limited(u32),
    /// Until there is no room in the send buffer for a message that goes before it: a fully
    /// reliable one, or one of a lower number. 0 goes first.
    Priority(u32),
}

/// Why a message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer has no room for it now.
    #[error("the send buffer is full; wait for the writable event")]
    WouldBlock,
    /// It can never be accepted.
    #[error("message of {bytes} bytes: at least 1 and at most {limit} are allowed")]
    BadSize {
        /// Its size.
        bytes: usize,
        /// The largest allowed: the smaller of max_message and the send buffer. Whether a peer
        /// takes a message larger than its receive buffer, in parts, nothing tells beforehand; one
        /// that does not aborts.
        limit: u64,
    },
    /// The stream does not exist.
    #[error("stream {} does not exist: the association has {streams} outbound streams", stream.0)]
    InvalidStream {
        /// The stream asked for.
        stream: StreamId,
        /// Outbound streams there are.
        streams: u16,
    },
    /// A message that was begun on this stream in parts must be ended first.
    #[error("stream {} has an unfinished message: send its last part first", stream.0)]
    MessageOpen {
        /// The stream.
        stream: StreamId,
    },
    /// On stream 0 of a protected association this payload protocol identifier is key management's
    /// (draft-ietf-tsvwg-sctp-dtls-chunk section 10.5).
    #[error("payload protocol identifier {ppid} on stream 0 is key management's: take another")]
    ReservedPpid {
        /// The identifier.
        ppid: u32,
    },
    /// A shutdown was begun by either side.
    #[error("the association is shutting down")]
    ShuttingDown,
    /// The association is over.
    #[error("the association is closed")]
    Closed,
}
