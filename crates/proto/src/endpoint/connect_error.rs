//! Why an association cannot be opened.

use crate::config::MAX_PATHS;
use crate::ids::FourTuple;

/// Why an association was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There must be at least one path, and at most [`MAX_PATHS`].
    #[error("{count} paths given: 1 to {MAX_PATHS} are allowed")]
    PathCount {
        /// Paths given.
        count: usize,
    },
    /// SCTP has no port 0.
    #[error("peer port 0: 1 to 65535 are allowed")]
    PortZero,
    /// A path's two addresses must be unicast and of one family.
    #[error("path {tuple}: both addresses must be unicast addresses of the same family")]
    BadPath {
        /// The path.
        tuple: FourTuple,
    },
    /// A path starts at an address that is not one of the endpoint's.
    #[error("path {tuple}: its local address is not one of the endpoint's addresses")]
    ForeignAddress {
        /// The path.
        tuple: FourTuple,
    },
    /// There is an association with this peer already.
    #[error("path {tuple}: there is an association with that address and these ports already")]
    Exists {
        /// The path.
        tuple: FourTuple,
    },
    /// The endpoint has as many associations as it may.
    #[error("the endpoint has {limit} associations already: no more are allowed")]
    TooMany {
        /// `max_associations`.
        limit: usize,
    },
}
