//! Which pairs of addresses become paths.

/// Which pairs of our and the peer's addresses become paths, beyond those on which packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPairing {
    /// Every pair of one family, up to [`MAX_PATHS`].
    Mesh,
    /// Our i-th address with the peer's i-th, in the order announced: disjoint links.
    Index,
    /// None: a pair becomes a path when a packet of the association arrives on it. An address of ours that is added later is tried with all
    /// addresses of the peer that paths lead to.
    Learned,
}

/// Paths per association, at most. Bounds what an INIT full of addresses can make us probe (RFC 5062 section 4).
pub const MAX_PATHS: usize = 16;
