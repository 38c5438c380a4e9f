//! Names of things inside one endpoint.

use core::fmt;
use core::net::SocketAddr;

pub use polypath_wire::{Mid, Ssn, StreamId, Tsn};

/// A path of an association: a pair (local address, remote address), numbered in the order in which
/// the paths were added. The number of a removed path is used again only when there are
/// [`MAX_PATHS`](crate::config::MAX_PATHS) others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathId(pub u8);

impl PathId {
    /// The path's position in [`AssocView::paths`](crate::view::AssocView::paths).
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path {}", self.0)
    }
}

/// A user message handed to [`send`](crate::Association::send), numbered per association from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct MessageId(pub u64);

/// A request to the peer to reconfigure streams
/// ([`reset_streams`](crate::Association::reset_streams) and others).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReconfigId(pub u64);

/// An association of an [`Endpoint`](crate::Endpoint). Handles of ended associations may be used
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssocHandle(pub usize);

/// A pair of transport addresses. With UDP encapsulation (RFC 6951) the ports are the UDP ports;
/// with SCTP directly over IP they are 0. SCTP's own ports live in the packet and in the
/// configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourTuple {
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

impl FourTuple {
    /// Whether it is the same pair; every packet asks that of every path. Apart, because the
    /// compiler makes two loops of the one over paths otherwise, and saves registers that neither
    /// needs.
    #[inline(never)]
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.remote, &other.remote) {
            (SocketAddr::V4(a), SocketAddr::V4(b)) => {
                a.ip().to_bits() == b.ip().to_bits()
                    && a.port() == b.port()
                    && self.local == other.local
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for FourTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.local, self.remote)
    }
}
