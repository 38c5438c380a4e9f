//! How many heartbeats the proof of an address has cost (RFC 9260 section 5.4).

/// What a path spent on proving its address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verification {
    /// Heartbeats sent while the address was not proven.
    pub(super) probes: u32,
    /// A packet came from there after the last of them: one more is allowed.
    pub(super) heard: bool,
    /// The last of them was asked for by such a packet: its timeout is awaited before the next.
    pub(super) asked_for: bool,
}
