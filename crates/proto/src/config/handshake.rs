//! How set-up begins.

/// Which paths INIT takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The first of those that the user named; the next one when T1-init expires (RFC 9260 section 5.1).
    OnePath,
    /// All that the user named, each time: a dead path costs nothing. The first INIT ACK counts.
    AllPaths,
}
