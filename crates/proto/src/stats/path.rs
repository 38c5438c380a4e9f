//! Counters of a path.

use core::net::SocketAddr;

use serde::Serialize;

use crate::ids::{FourTuple, PathId};
use crate::time::Duration;
use crate::view::PathState;

/// Counters of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PathStats {
    /// Which path.
    pub path: PathId,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// SCTP packets received.
    pub packets_received: u64,
    /// Bytes of SCTP packets sent.
    pub bytes_sent: u64,
    /// DATA chunks sent, retransmissions included.
    pub data_chunks: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_bytes: u64,
    /// Payload bytes that arrived on this path, duplicates included.
    pub payload_received: u64,
    /// DATA chunks retransmitted *on* this path after miss indications.
    pub retransmissions_fast: u64,
    /// DATA chunks retransmitted *on* this path after a timeout.
    pub retransmissions_timeout: u64,
    /// Copies sent *on* this path of chunks in flight on another.
    pub copies: u64,
    /// Times that this path went silent while others did not.
    pub path_silences: u64,
    /// Expiries of this path's T3-rtx.
    pub timeouts: u64,
    /// Expiries by the RTO that expired: below 2 s, 4 s, 8 s, 16 s, and longer.
    pub timeouts_by_rto: [u64; 5],
    /// Fast recoveries entered.
    pub fast_recoveries: u64,
    /// HEARTBEATs sent.
    pub heartbeats_sent: u64,
    /// HEARTBEAT ACKs that matched.
    pub heartbeats_acked: u64,
    /// Smoothed RTT, once measured.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes.
    pub ssthresh: u64,
    /// DATA chunk bytes in flight.
    pub outstanding: u64,
    /// Reachability.
    pub state: PathState,
}

impl PathStats {
    /// Counters of a path that has carried nothing yet, and of which nothing is known.
    pub const fn new(path: PathId, tuple: FourTuple) -> Self {
        Self {
            path,
            local: tuple.local,
            remote: tuple.remote,
            packets_sent: 0,
            packets_received: 0,
            bytes_sent: 0,
            data_chunks: 0,
            payload_bytes: 0,
            payload_received: 0,
            retransmissions_fast: 0,
            retransmissions_timeout: 0,
            copies: 0,
            path_silences: 0,
            timeouts: 0,
            timeouts_by_rto: [0; 5],
            fast_recoveries: 0,
            heartbeats_sent: 0,
            heartbeats_acked: 0,
            srtt: None,
            rto: Duration::ZERO,
            cwnd: 0,
            ssthresh: 0,
            outstanding: 0,
            state: PathState::Unconfirmed,
        }
    }
}
