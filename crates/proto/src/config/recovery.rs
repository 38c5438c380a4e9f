//! Loss recovery beyond RFC 9260.

/// Loss recovery beyond RFC 9260, per path, each part with its switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryConfig {
    /// Time-based loss detection (RFC 8985): a chunk is lost when one that was sent later on the same path was delivered
    /// and the reordering window has passed. Finds lost retransmissions, too.
    pub rack: bool,
    /// Tail-loss probe (RFC 8985 section 7): when SACKs fail to come for two round trips, one packet asks for one. What
    /// that SACK says of the chunks before the probe is understood by `rack` alone.
    pub tail_probe: bool,
    /// Proportional rate reduction (RFC 6937): how much may be sent per SACK in fast recovery.
    pub rate_reduction: RateReduction,
    /// Detection of spurious timeouts, whose cut of the windows is then undone (F-RTO, RFC 5682 section 3).
    pub f_rto: bool,
    /// Sending chunks that are in flight on one path once more on another, before they are declared lost.
    pub rescheduling: Rescheduling,
}

impl RecoveryConfig {
    /// RFC 9260 alone.
    pub const OFF: Self = Self {
        rack: false,
        tail_probe: false,
        rate_reduction: RateReduction::Off,
        f_rto: false,
        rescheduling: Rescheduling::Off,
    };

    /// All that a modern transport of a single path has.
    pub const MODERN: Self = Self {
        rack: true,
        tail_probe: true,
        rate_reduction: RateReduction::SlowStart,
        f_rto: true,
        rescheduling: Rescheduling::Off,
    };
}

/// When chunks in flight on one path are sent again on another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rescheduling {
    /// Never.
    #[default]
    Off,
    /// When what one path delivered fills half of a buffer, because it cannot leave before a chunk in flight on another: that chunk
    /// moves to the path that is ready (Dreibholz et al., GLOBECOM 2010).
    Blocked,
    /// When a path has gone silent: nothing of it is acknowledged although the SACKs of other paths should have told of it.
    Silent,
    /// Both.
    Both,
}

impl Rescheduling {
    /// Whether silent paths are given up.
    pub const fn watches_silence(self) -> bool {
        matches!(self, Self::Silent | Self::Both)
    }

    /// Whether a chunk that blocks a buffer moves to another path.
    pub const fn watches_blocking(self) -> bool {
        matches!(self, Self::Blocked | Self::Both)
    }
}

/// Sending in fast recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateReduction {
    /// The reduced window alone decides (RFC 9260 section 7.2.4): half a round trip of silence, then one packet per packet.
    #[default]
    Off,
    /// PRR with the conservative reduction bound (CRB): below the new window, never more than was delivered.
    Conservative,
    /// PRR with the slow start reduction bound (SSRB): below the new window, one packet more per SACK.
    SlowStart,
}
