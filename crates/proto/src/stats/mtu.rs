//! What path MTU discovery found.

use serde::Serialize;

/// How far the discovery of a path's MTU is (RFC 8899 section 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum MtuState {
    /// It is off, or the path is not connected.
    #[default]
    Disabled,
    /// The base size is being confirmed.
    Base,
    /// Larger sizes are tried.
    Searching,
    /// The search is over until the raise timer expires or data vanishes.
    Complete,
    /// Not even the base size passes.
    Error,
}

/// What is known of the size of packets on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PathMtuStats {
    /// The size in use: bytes of an IP packet.
    pub mtu: u32,
    /// How far discovery is.
    pub state: MtuState,
    /// Probes sent.
    pub probes_sent: u64,
    /// Probes answered.
    pub probes_acked: u64,
    /// How often packets of the size in use turned out to vanish.
    pub black_holes: u64,
}
