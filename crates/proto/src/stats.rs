//! Counters: per association, per path, per stream.

mod contact;
mod counters;
mod limits;
mod mtu;
mod path;
mod wait;

use serde::Serialize;

pub use contact::PathContact;
pub(crate) use counters::PathCounters;
pub use limits::{Limit, LimitStats, Stall};
pub use mtu::{MtuState, PathMtuStats};
pub use path::PathStats;
pub use wait::{StreamWait, WaitsFor};

/// Counters of an endpoint: what happened outside associations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Packets handed in.
    pub packets_received: u64,
    /// Packets dropped for a wrong checksum.
    pub bad_checksum: u64,
    /// Packets dropped because they did not decode.
    pub malformed: u64,
    /// Packets dropped for a wrong verification tag.
    pub bad_tag: u64,
    /// Packets that belonged to no association ("out of the blue").
    pub out_of_the_blue: u64,
    /// Cookies that failed their MAC, were too old, or had been used before.
    pub bad_cookies: u64,
    /// Stateless replies sent.
    pub stateless_replies: u64,
    /// Stateless replies suppressed by the rate limit.
    pub replies_suppressed: u64,
}

/// Counters of an association.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AssocStats {
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// SCTP packets received.
    pub packets_received: u64,
    /// DATA chunks sent for the first time.
    pub data_chunks_sent: u64,
    /// Payload bytes sent for the first time.
    pub data_bytes_sent: u64,
    /// DATA chunks retransmitted after miss indications.
    pub retransmissions_fast: u64,
    /// DATA chunks retransmitted after a timeout.
    pub retransmissions_timeout: u64,
    /// DATA chunks in flight that were sent once more on another path.
    pub copies: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// SACKs and NR-SACKs sent.
    pub sacks_sent: u64,
    /// SACKs and NR-SACKs received.
    pub sacks_received: u64,
    /// DATA chunks received, duplicates included.
    pub data_chunks_received: u64,
    /// DATA chunks received more than once: what the sender retransmitted in vain.
    pub duplicates_received: u64,
    /// DATA chunks dropped for want of buffer space.
    pub dropped_no_room: u64,
    /// Messages handed in.
    pub messages_sent: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Payload bytes delivered.
    pub bytes_delivered: u64,
    /// Chunks that did not decode.
    pub malformed_chunks: u64,
    /// AUTH chunks that proved nothing: unknown key, unknown HMAC, or a wrong one.
    #[serde(skip_serializing_if = "is_zero")]
    pub auth_failures: u64,
    /// Chunks dropped because they must be authenticated and were not.
    #[serde(skip_serializing_if = "is_zero")]
    pub unauthenticated_chunks: u64,
    /// SHUTDOWNs whose cumulative TSN was never sent, from a peer that had acknowledged everything
    /// before.
    #[serde(skip_serializing_if = "is_zero")]
    pub bad_shutdowns: u64,
    /// TSNs gap-acked and then withdrawn by the peer.
    pub reneged: u64,
    /// Gap ack blocks of the peer that were passed over: they end before they begin, or leave no
    /// gap above the cumulative TSN.
    #[serde(skip_serializing_if = "is_zero")]
    pub impossible_gap_blocks: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
    /// Per path.
    pub paths: Vec<PathStats>,
    /// Per outbound stream that was used.
    pub streams_out: Vec<StreamStats>,
    /// Per inbound stream that was used.
    pub streams_in: Vec<StreamStats>,
}

/// Counters of what few associations use are written only when they counted something.
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counters of the loss recovery beyond RFC 9260 on one path
/// ([`RecoveryConfig`](crate::config::RecoveryConfig)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecoveryStats {
    /// Chunks that time-based detection declared lost.
    pub rack_losses: u64,
    /// The retransmissions among them.
    pub lost_again: u64,
    /// Retransmissions that the peer reported as duplicates: the originals had only been late.
    pub spurious_retransmissions: u64,
    /// Tail-loss probes sent.
    pub tail_probes: u64,
    /// Losses that a tail-loss probe repaired by itself.
    pub tail_losses: u64,
    /// Timeouts that turned out to be spurious.
    pub spurious_timeouts: u64,
}

/// Messages that were given up, by why (RFC 7496 section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AbandonedMessages {
    /// Their lifetime was over.
    pub timed: AbandonedCount,
    /// They were lost as often as was allowed.
    pub limited: AbandonedCount,
    /// Others needed the room.
    pub priority: AbandonedCount,
}

impl AbandonedMessages {
    /// For whatever reason.
    pub fn total(&self) -> AbandonedCount {
        self.timed + self.limited + self.priority
    }
}

impl core::ops::Add for AbandonedMessages {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            timed: self.timed + other.timed,
            limited: self.limited + other.limited,
            priority: self.priority + other.priority,
        }
    }
}

/// Messages that were given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AbandonedCount {
    /// Before anything of them was sent.
    pub unsent: u64,
    /// After that.
    pub sent: u64,
}

impl core::ops::Add for AbandonedCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { unsent: self.unsent + other.unsent, sent: self.sent + other.sent }
    }
}

/// Counters of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamStats {
    /// Which stream.
    pub stream: u16,
    /// Messages handed in, or delivered.
    pub messages: u64,
    /// Their payload bytes.
    pub bytes: u64,
}
