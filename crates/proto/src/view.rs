//! Read-only views: all that a policy may see of an association.
//!
//! Plain data, in a fixed order of paths, so that a view is cheap to hand out and to mirror
//! elsewhere.

use core::num::NonZeroU64;

use crate::ids::{PathId, StreamId, Tsn};
use crate::needs::{Service, StreamNeeds};
use crate::time::{Duration, Time};

/// What the user wants of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PathAdmin {
    /// Carries data.
    #[default]
    Active,
    /// Carries data only while no `Active` path is usable.
    Backup,
    /// Carries no data; heartbeats go on.
    Disabled,
}

/// What the association knows of a path's reachability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PathState {
    /// Not yet verified (RFC 9260 section 5.4): carries nothing but heartbeats.
    Unconfirmed,
    /// Reachable as far as we know.
    Active,
    /// Potentially failed (RFC 7829): a timeout happened, probing goes on, data goes elsewhere.
    PotentiallyFailed,
    /// Its error counter passed Path.Max.Retrans (RFC 9260 section 8.2).
    Inactive,
    /// It is there no more: one of its addresses was taken back (RFC 5061).
    Removed,
}

impl PathState {
    /// The peer has proved its address, and the path is still there.
    pub const fn is_confirmed(self) -> bool {
        !matches!(self, Self::Unconfirmed | Self::Removed)
    }

    /// The path is still there.
    pub(crate) const fn is_live(self) -> bool {
        !matches!(self, Self::Removed)
    }
}

impl core::fmt::Display for PathState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Unconfirmed => "unconfirmed",
            Self::Active => "active",
            Self::PotentiallyFailed => "potentially failed",
            Self::Inactive => "inactive",
            Self::Removed => "removed",
        })
    }
}

/// One path, as policies see it. Sizes in bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PathView {
    /// Which path; equals its position in [`AssocView::paths`].
    pub id: PathId,
    /// The user's wish.
    pub admin: PathAdmin,
    /// Reachability.
    pub state: PathState,
    /// Member of the set A of the retransmission policies: confirmed, reachable, not disabled, and
    /// not potentially failed while a better path exists.
    pub usable: bool,
    /// Silent although other paths' SACKs should have told of its data: not usable while a better
    /// path exists.
    pub silent: bool,
    /// May take new data in this send attempt: usable, cwnd open, Max.Burst not reached, and the
    /// buffer policy agrees. Set by the engine right before it asks the path scheduler.
    pub sendable: bool,
    /// Its addresses are IPv6.
    pub ipv6: bool,
    /// Its congestion control is [rate-based](crate::policy::CongestionControl::is_rate_based): its
    /// window only bounds what is in flight, and is not cut by each loss.
    pub rate_based: bool,
    /// Path MTU, IP header included.
    pub mtu: u32,
    /// PMDCS: the largest DATA chunk, header included, that fits the path MTU (RFC 9260 section
    /// 7.2).
    pub pmdcs: u32,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
    /// O_p: DATA chunk bytes in flight: not acknowledged in any way and not marked for
    /// retransmission.
    pub outstanding: u64,
    /// The payload bytes among `outstanding`, copies left out.
    pub outstanding_payload: u64,
    /// The bytes among `outstanding` that are copies of chunks in flight on another path.
    pub duplicate_bytes_in_flight: u64,
    /// Q_p: payload bytes sent on this path and still in the send buffer: not cum-acked and not
    /// NR-acked.
    pub queued: u64,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Round-trip time variation.
    pub rttvar: Duration,
    /// Smallest round-trip time ever measured.
    pub min_rtt: Option<Duration>,
    /// Latest round-trip time sample.
    pub last_rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Error counter (RFC 9260 section 8.2).
    pub errors: u32,
    /// In fast recovery.
    pub in_recovery: bool,
    /// Packets with DATA sent so far.
    pub data_packets: u64,
    /// DATA chunks sent so far, retransmissions included.
    pub data_chunks: u64,
    /// DATA chunks of this path that were declared lost so far.
    pub lost_chunks: u64,
    /// DATA chunk bytes that this path is known to have delivered so far (C.delivered of
    /// draft-ietf-ccwg-bbr). What another path may have delivered is counted on neither.
    pub delivered: u64,
    /// DATA chunk bytes of this path that were declared lost so far (C.lost).
    pub lost: u64,
    /// When DATA was last sent on this path.
    pub last_data: Time,
    /// What a rate-based congestion control takes the path to carry, DATA chunk bytes per second
    /// (BBR.bw); `None` with any other control, and while it has not found out.
    pub bandwidth: Option<NonZeroU64>,
    /// Its group: the lowest path among those that the congestion control takes to share one
    /// bottleneck with this path; the path itself while there is none.
    pub group: PathId,
}

impl PathView {
    /// A path as it is when it is added: unconfirmed, unmeasured, idle.
    pub const fn new(id: PathId, mtu: u32, pmdcs: u32, rto: Duration) -> Self {
        Self {
            id,
            admin: PathAdmin::Active,
            state: PathState::Unconfirmed,
            usable: false,
            silent: false,
            sendable: false,
            ipv6: false,
            rate_based: false,
            mtu,
            pmdcs,
            cwnd: 0,
            ssthresh: 0,
            outstanding: 0,
            outstanding_payload: 0,
            duplicate_bytes_in_flight: 0,
            queued: 0,
            srtt: None,
            rttvar: Duration::ZERO,
            min_rtt: None,
            last_rtt: None,
            rto,
            errors: 0,
            in_recovery: false,
            data_packets: 0,
            data_chunks: 0,
            lost_chunks: 0,
            delivered: 0,
            lost: 0,
            last_data: Time::ZERO,
            bandwidth: None,
            group: id,
        }
    }

    /// Whether cwnd admits one more packet: fewer bytes are outstanding than cwnd (RFC 9260 section
    /// 6.1 B, which allows the last packet to overshoot).
    #[inline]
    pub const fn has_room(&self) -> bool {
        self.outstanding < self.cwnd
    }

    /// Bytes that cwnd still admits.
    #[inline]
    pub const fn room(&self) -> u64 {
        self.cwnd.saturating_sub(self.outstanding)
    }

    /// The smoothed RTT in seconds, or `unmeasured` where there is no sample yet.
    pub fn srtt_or(&self, unmeasured: Duration) -> f64 {
        self.srtt.unwrap_or(unmeasured).as_secs_f64()
    }
}

/// What one SACK tells of the rate at which a path delivers: RS of draft-ietf-ccwg-bbr.
///
/// It belongs to the newest transmission that the SACK acknowledges. Bytes are DATA chunk bytes,
/// headers and padding included, as congestion windows count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered from that transmission until now.
    pub delivered: u64,
    /// What the path had delivered when that transmission left.
    pub prior_delivered: u64,
    /// How long that took: the longer of the times of sending and of acknowledging.
    pub interval: Duration,
    /// The interval is at least the path's smallest round trip: shorter ones come of
    /// retransmissions whose originals arrived, and measure nothing.
    pub is_valid: bool,
    /// Round trip of that transmission, from the time of its chunk's latest transmission.
    pub rtt: Duration,
    /// Meanwhile the path could have sent more, but the application or the path scheduler left it
    /// idle: the path may be faster than that.
    pub is_app_limited: bool,
    /// Bytes that the SACK newly acknowledged on this path.
    pub newly_acked: u64,
    /// Bytes that were declared lost by the SACK.
    pub newly_lost: u64,
    /// Bytes that were declared lost from that transmission until now.
    pub lost: u64,
    /// Bytes in flight right after that transmission.
    pub sent_in_flight: u64,
}

impl RateSample {
    /// A sample of `bytes` that left together and came back after `rtt`; for tests of policies.
    pub const fn of_trip(bytes: u64, rtt: Duration) -> Self {
        Self {
            delivered: bytes,
            prior_delivered: 0,
            interval: rtt,
            is_valid: true,
            rtt,
            is_app_limited: false,
            newly_acked: bytes,
            newly_lost: 0,
            lost: 0,
            sent_in_flight: bytes,
        }
    }

    /// The delivery rate, bytes per second; `None` if the sample is invalid.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.is_valid.then(|| self.delivered as f64 / self.interval.as_secs_f64())
    }
}

/// Data that left a path in one instant and was declared lost: packet P of draft-ietf-ccwg-bbr in
/// `HandleLostPacket`. DATA chunk bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostTransmission {
    /// Bytes of it that were declared lost now (P.size).
    pub bytes: u64,
    /// Bytes in flight right after it left (P.tx_in_flight).
    pub sent_in_flight: u64,
    /// Bytes of the path that were declared lost since it left, these included (RS.lost).
    pub lost: u64,
    /// The path could have sent more then, and had nothing to (P.is_app_limited).
    pub is_app_limited: bool,
}

impl LostTransmission {
    /// `bytes` lost of so many in flight, with nothing lost before; for tests of policies.
    pub const fn of_flight(bytes: u64, sent_in_flight: u64) -> Self {
        Self { bytes, sent_in_flight, lost: bytes, is_app_limited: false }
    }
}

/// The send buffer. Payload bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendBufferView {
    /// Its size; `u64::MAX` when unlimited.
    pub limit: u64,
    /// Bytes held: unsent, plus sent and neither cum-acked nor NR-acked.
    pub used: u64,
    /// The unsent bytes among them.
    pub unsent: u64,
    /// Messages with unsent bytes.
    pub unsent_messages: u64,
}

impl SendBufferView {
    /// A view of a buffer.
    pub const fn new(limit: u64, used: u64, unsent: u64, unsent_messages: u64) -> Self {
        Self { limit, used, unsent, unsent_messages }
    }
}

/// One association, as policies see it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AssocView<'a> {
    /// The present.
    pub now: Time,
    /// All paths, by id.
    pub paths: &'a [PathView],
    /// The primary path.
    pub primary: PathId,
    /// rwnd: the peer's window less what is in flight, in payload bytes (plus the configured charge
    /// per chunk).
    pub peer_rwnd: u64,
    /// Bytes in flight on all paths, in the units of `peer_rwnd`.
    pub outstanding: u64,
    /// Trbuf: the receive buffer that the peer announced at set-up.
    pub peer_rwnd_max: u64,
    /// The send buffer.
    pub send_buffer: SendBufferView,
    /// RTO.Initial, the stand-in for an RTT that was not measured yet.
    pub rto_initial: Duration,
    /// The peer reports by NR-SACKs: what it has taken leaves the send buffer, although earlier
    /// data is missing.
    pub nr_sacks: bool,
    /// The most gap ack blocks that a SACK of the peer had so far. It may be all that it reports,
    /// however many there are (RFC 9260 section 3.3.4 bounds them by the path MTU; Linux reports 16
    /// and WebRTC 20).
    pub most_gap_blocks: u16,
}

impl<'a> AssocView<'a> {
    /// A view; for the engine and for tests of policies.
    pub const fn new(now: Time, paths: &'a [PathView]) -> Self {
        Self {
            now,
            paths,
            primary: PathId(0),
            peer_rwnd: 0,
            outstanding: 0,
            peer_rwnd_max: 0,
            send_buffer: SendBufferView::new(u64::MAX, 0, 0, 0),
            rto_initial: Duration::from_secs(1),
            nr_sacks: false,
            most_gap_blocks: 0,
        }
    }

    /// The path `p`, if there is one of that number.
    #[inline]
    pub fn path(&self, p: PathId) -> Option<&'a PathView> {
        self.paths.get(p.index())
    }

    /// The set A: paths that may carry retransmissions.
    pub fn usable(&self) -> impl Iterator<Item = &'a PathView> + use<'a> {
        self.paths.iter().filter(|p| p.usable)
    }

    /// Paths that may take new data now.
    pub fn sendable(&self) -> impl Iterator<Item = &'a PathView> + use<'a> {
        self.paths.iter().filter(|p| p.sendable)
    }

    /// n of the buffer splitting formulas: paths that are confirmed and not inactive.
    pub fn split_count(&self) -> u64 {
        let live = |p: &&PathView| {
            matches!(p.state, PathState::Active | PathState::PotentiallyFailed)
                && p.admin != PathAdmin::Disabled
        };
        self.paths.iter().filter(live).count().max(1) as u64
    }
}

/// The piece of new data that is next to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkMeta {
    /// Its stream.
    pub stream: StreamId,
    /// Payload bytes of the chunk.
    pub bytes: u32,
    /// Payload bytes of its message that are unsent, this chunk included.
    pub message_remaining: u64,
    /// First chunk of its message.
    pub first: bool,
    /// Last chunk of its message.
    pub last: bool,
    /// To be delivered in order.
    pub ordered: bool,
    /// When the application handed in the message.
    pub enqueued: Time,
    /// What its stream declared.
    pub needs: StreamNeeds,
}

impl ChunkMeta {
    /// A whole message of `bytes` in one chunk; for tests of policies.
    pub const fn whole(stream: StreamId, bytes: u32) -> Self {
        Self {
            stream,
            bytes,
            message_remaining: bytes as u64,
            first: true,
            last: true,
            ordered: true,
            enqueued: Time::ZERO,
            needs: StreamNeeds { service: Service::Throughput, priority: 0, deadline: None },
        }
    }
}

/// A chunk that waits to be retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RtxMeta {
    /// Its TSN.
    pub tsn: Tsn,
    /// The path of its latest transmission.
    pub last: PathId,
    /// How often it was transmitted so far.
    pub sends: u32,
    /// DATA chunk bytes.
    pub bytes: u32,
    /// Why it is retransmitted.
    pub cause: LossKind,
}

impl RtxMeta {
    /// A chunk marked for retransmission; for the engine and for tests of policies.
    pub const fn new(tsn: Tsn, last: PathId, sends: u32, bytes: u32, cause: LossKind) -> Self {
        Self { tsn, last, sends, bytes, cause }
    }
}

/// How a loss was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LossKind {
    /// Enough miss indications (RFC 9260 section 7.2.4).
    FastRetransmit,
    /// T3-rtx expired (RFC 9260 section 6.3.3).
    Timeout,
}
