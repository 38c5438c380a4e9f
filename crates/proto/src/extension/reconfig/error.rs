//! Why streams cannot be reconfigured.

use crate::ids::StreamId;

/// Requests of the application that wait, at most.
pub(super) const MAX_WAITING: usize = 16;

/// Why a reconfiguration cannot be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReconfigError {
    /// The peer does not know RE-CONFIG, or we do not offer it.
    #[error("stream reconfiguration was not agreed on at set-up")]
    Unsupported,
    /// The association is not set up, or is ending.
    #[error("the association is not established")]
    NotEstablished,
    /// A stream that is not there.
    #[error("stream {} does not exist: there are {streams}", stream.0)]
    InvalidStream {
        /// The stream asked for.
        stream: StreamId,
        /// Streams there are.
        streams: u16,
    },
    /// More streams than a request can name.
    #[error("{streams} streams: a request names at most {limit}, or all by naming none")]
    TooManyStreams {
        /// Streams named.
        streams: usize,
        /// What fits.
        limit: usize,
    },
    /// Streams that cannot be added.
    #[error("{streams} streams: at least 1 more and at most {limit} in all are allowed")]
    TooManyAdded {
        /// Streams there would be.
        streams: u32,
        /// The largest number allowed.
        limit: u16,
    },
    /// The last reset of TSNs was less than 30 s ago.
    #[error("the last reset of the association was less than 30 s ago")]
    TooSoon,
    /// Too many requests wait, or a stream named is being reset already.
    #[error("a reset of the same streams is under way, or {MAX_WAITING} requests wait")]
    Busy,
}
