//! What a run found out. Everything refers to the measuring time, from the end of settling to the
//! end of the run, unless it says "whole run".

use bytes::Bytes;
use polypath_link::{LinkStats, Nanos, NatStats};
use serde::Serialize;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// The run's seed.
    pub seed: u64,
    /// When the run ended, ns.
    pub end: Nanos,
    /// Measuring time, ns.
    pub measured: Nanos,
    /// In the order of the specification.
    pub flows: Vec<FlowResult>,
    /// In the order of the specification.
    pub links: Vec<LinkResult>,
    /// Traffic of others, in the order of the specification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cross: Vec<CrossResult>,
    /// Boxes that translate addresses, in the order of the specification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nats: Vec<NatResult>,
    /// SCTP packets that all endpoints sent in the whole run.
    pub packets: u64,
    /// Among them, packets for which there was no route, or that a box did not let in.
    pub unroutable: u64,
    /// Events processed in the whole run.
    pub events: u64,
}

/// What happened to one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// How far the association got, and why it ended.
    pub outcome: Outcome,
    /// Points in time of the transfer, whole run.
    pub times: TransferTimes,
    /// What the server's application received.
    pub total: Delivered,
    /// The same per stream, by stream id.
    pub streams: Vec<Delivered>,
    /// What the client sent on each path, by path id.
    pub paths: Vec<PathResult>,
    /// Counters of the transfer over all paths.
    pub counters: Counters,
    /// Requests answered and their response time: the delay from the request's acceptance to the
    /// response's delivery.
    pub responses: Option<Delivered>,
    /// What the client gave up, where it may give messages up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandoned: Option<Abandoned>,
    /// Whether the messages arrived as they were sent, whole run.
    pub integrity: Integrity,
    /// Time in ns during which unsent data waited and a congestion window was open, but the peer's
    /// window had no room for a packet.
    pub blocked_by_peer_window: Nanos,
    /// Number of such times.
    pub blocked_count: u64,
    /// The longest of them, ns.
    pub blocked_longest: Nanos,
    /// Bytes in the server's receive buffer.
    pub receive_buffer: Occupancy,
    /// The bytes among them that are beyond the cumulative TSN.
    pub out_of_order: Occupancy,
    /// Time series, whole run.
    pub samples: Vec<Sample>,
    /// Messages in the order of their delivery, whole run, if the flow records them.
    #[serde(skip)]
    pub messages: Vec<MessageRecord>,
    /// The file as it arrived, if its bytes were given; what did not arrive is zero.
    #[serde(skip)]
    pub file: Option<Bytes>,
}

/// A message that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// When the client's application had handed it in, ns.
    pub accepted: Nanos,
    /// When the server's application got it, ns.
    pub delivered: Nanos,
    /// Its size.
    pub bytes: u32,
    /// Its stream.
    pub stream: u16,
}

/// How far an association got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was never set up.
    NotEstablished,
    /// It was still up at the end of the run.
    Open,
    /// It ended gracefully.
    Finished,
    /// It ended otherwise, for this reason.
    Failed(String),
    /// The client's path scheduler failed, and said this.
    PolicyFailed(String),
}

/// Messages that were given up (RFC 3758, RFC 7496). One of which something had been sent may have
/// been delivered nevertheless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Abandoned {
    /// For whatever reason.
    pub messages: u64,
    /// Among them, those of which nothing was sent.
    pub unsent: u64,
    /// Among all, those whose lifetime was over.
    pub lifetime: u64,
    /// Those that were lost as often as was allowed.
    pub retransmissions: u64,
    /// Those whose room others needed.
    pub priority: u64,
}

/// Points in time in ns; `None`: never happened. The two usual transfer times are
/// [`Self::from_connect`] and [`Self::from_first_data`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(description = "Points in time in ns; null: never happened.")
)]
pub struct TransferTimes {
    /// The client opened the association.
    pub connect: Option<Nanos>,
    /// The association was set up at the client.
    pub established: Option<Nanos>,
    /// The first DATA chunk was sent.
    pub first_data_sent: Option<Nanos>,
    /// The first DATA chunk arrived at the server.
    pub first_data_arrived: Option<Nanos>,
    /// The server's application read the first message.
    pub first_delivery: Option<Nanos>,
    /// The server's application read the latest message.
    pub last_delivery: Option<Nanos>,
    /// The association ended at the client.
    pub closed: Option<Nanos>,
}

impl TransferTimes {
    /// T: from the opening of the association to the last delivery, ns.
    #[must_use]
    pub fn from_connect(&self) -> Option<Nanos> {
        self.last_delivery?.checked_sub(self.connect?)
    }

    /// From the first DATA sent to the last delivery, ns (S1's transfer time).
    #[must_use]
    pub fn from_first_data(&self) -> Option<Nanos> {
        self.last_delivery?.checked_sub(self.first_data_sent?)
    }

    /// Tdata: from the first arrival of DATA to the last delivery, ns (as the ns-2 reference
    /// measures).
    #[must_use]
    pub fn from_first_arrival(&self) -> Option<Nanos> {
        self.last_delivery?.checked_sub(self.first_data_arrived?)
    }
}

/// Messages that an application received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivered {
    /// Messages.
    pub messages: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Payload bit/s over the measuring time.
    pub goodput: f64,
    /// From the message's acceptance by `send` to its delivery; `None` without messages.
    pub delay: Option<DelaySummary>,
}

/// Statistics of delays, ns. Percentiles are exact to 1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: Nanos,
    /// 95th percentile.
    pub p95: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// Greatest.
    pub max: Nanos,
}

/// What the client sent on one path. State at the end of the run where it says "at the end".
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathResult {
    /// Name of its route, or the addresses if it has none.
    pub name: String,
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// Bytes of SCTP packets sent.
    pub bytes_sent: u64,
    /// DATA chunks sent, retransmissions included.
    pub data_chunks: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_bytes: u64,
    /// Payload bit/s sent, retransmissions included.
    pub payload_rate: f64,
    /// DATA chunks retransmitted on this path after miss indications.
    pub retransmissions_fast: u64,
    /// DATA chunks retransmitted on this path after a timeout.
    pub retransmissions_timeout: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Expiries by the RTO that expired: below 2 s, 4 s, 8 s, 16 s, and longer.
    pub timeouts_by_rto: [u64; 5],
    /// Fast recoveries.
    pub fast_recoveries: u64,
    /// Smoothed RTT at the end, ns.
    pub srtt: Option<Nanos>,
    /// Retransmission timeout at the end, ns.
    pub rto: Nanos,
    /// Congestion window at the end, bytes.
    pub cwnd: u64,
    /// Slow start threshold at the end, bytes.
    pub ssthresh: u64,
    /// The size of IP packets that path MTU discovery found, at the end, bytes; `None` where it is
    /// off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Reachability at the end.
    pub state: String,
}

/// Counters of a flow's data direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// SCTP packets the client sent.
    pub packets_sent: u64,
    /// DATA chunks sent for the first time.
    pub data_chunks_sent: u64,
    /// DATA chunks retransmitted after miss indications.
    pub retransmissions_fast: u64,
    /// DATA chunks retransmitted after a timeout.
    pub retransmissions_timeout: u64,
    /// DATA chunks in flight that were sent once more on another path: rescheduled, or redundant.
    pub copies: u64,
    /// Times that a path was silent while others were not.
    pub path_silences: u64,
    /// DATA chunks that the server received more than once.
    pub duplicate_chunks: u64,
    /// DATA chunks that the server dropped for want of buffer space.
    pub dropped_no_room: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Expiries by the RTO that expired: below 2 s, 4 s, 8 s, 16 s, and longer.
    pub timeouts_by_rto: [u64; 5],
    /// Fast recoveries.
    pub fast_recoveries: u64,
    /// SACKs and NR-SACKs that the server sent.
    pub sacks_sent: u64,
    /// SACKs and NR-SACKs that the client received.
    pub sacks_received: u64,
    /// Zero-window probes.
    pub window_probes: u64,
    /// Messages that the client's association accepted.
    pub messages_accepted: u64,
}

/// Whether the messages arrived as they were sent. All zero but `outstanding` in a correct run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Integrity {
    /// Messages delivered again.
    pub duplicated: u64,
    /// Ordered messages delivered before an earlier one of their stream, or on another stream.
    pub misordered: u64,
    /// Messages with other bytes than were sent, or never sent at all.
    pub corrupted: u64,
    /// Messages accepted and neither delivered nor given up by the end of the run: on their way, or
    /// lost with the association.
    pub outstanding: u64,
}

impl Integrity {
    /// Nothing was duplicated, reordered or changed.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.duplicated == 0 && self.misordered == 0 && self.corrupted == 0
    }
}

/// How full something was, in bytes, as seen after each event at its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Occupancy {
    /// Mean over time.
    pub mean: f64,
    /// Most.
    pub max: u64,
}

/// A point of the time series. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// When, ns.
    pub at: Nanos,
    /// The peer's window less what is in flight.
    pub peer_rwnd: u64,
    /// Bytes in the client's send buffer.
    pub send_buffer: u64,
    /// The bytes among them that were never sent.
    pub send_buffer_unsent: u64,
    /// All of them per stream, by stream id, as far as streams were used.
    pub send_buffer_streams: Vec<u64>,
    /// Bytes in the server's receive buffer.
    pub receive_buffer: u64,
    /// The bytes among them beyond the cumulative TSN.
    pub out_of_order: u64,
    /// Message bytes that the server's application received so far.
    pub delivered: u64,
    /// By path id.
    pub paths: Vec<PathSample>,
}

/// One path at the time of a sample. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathSample {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
    /// DATA chunk bytes in flight.
    pub outstanding: u64,
    /// Smoothed RTT, ns.
    pub srtt: Option<Nanos>,
}

/// Counters of one source of cross traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CrossResult {
    /// Its name.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent, headers included.
    pub sent_bytes: u64,
    /// Packets that arrived at the end of the link.
    pub delivered: u64,
    /// Bytes that arrived, headers included.
    pub delivered_bytes: u64,
}

/// Counters of a box that translates addresses, in packets, whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NatResult {
    /// Its name.
    pub name: String,
    /// Translated on their way out.
    pub outbound: u64,
    /// Translated on their way in.
    pub inbound: u64,
    /// From outside, for an external endpoint that nobody has.
    pub unmapped: u64,
    /// From outside, of an endpoint that the filter does not let in.
    pub filtered: u64,
    /// From inside, for which there was no room.
    pub refused: u64,
}

impl NatResult {
    pub(crate) fn new(name: String, stats: NatStats) -> Self {
        let NatStats { outbound, inbound, unmapped, filtered, refused } = stats;
        Self { name, outbound, inbound, unmapped, filtered, refused }
    }
}

/// Counters of one link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkResult {
    /// Its name.
    pub name: String,
    /// Packets offered, dropped ones included.
    pub offered: u64,
    /// Bytes offered, dropped ones included.
    pub offered_bytes: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Packets taken by loss models or bit errors.
    pub lost: u64,
    /// Packets that found the queue full, or were dropped early by RED.
    pub overflowed: u64,
    /// Packets lost while the link was down or because it went down.
    pub lost_down: u64,
    /// Packets larger than the link carries.
    #[serde(skip_serializing_if = "is_zero")]
    pub too_large: u64,
    /// Most packets that waited at once, whole run.
    pub max_queue_packets: u64,
    /// 95th percentile of the time in ns that a packet would have waited, over the samples of the
    /// time series; `None` without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_p95: Option<Nanos>,
    /// Time in ns for which the transmitter had work.
    pub busy: Nanos,
}

impl LinkResult {
    /// The growth of a link's counters since `before`.
    pub(crate) fn since(name: String, now: &LinkStats, before: &LinkStats) -> Self {
        let (drops, earlier) = (&now.dropped, &before.dropped);
        let lost = |d: &polypath_link::Drops| d.loss + d.bit_error;
        let overflowed = |d: &polypath_link::Drops| d.queue_full + d.red;
        Self {
            name,
            offered: now.offered - before.offered,
            offered_bytes: now.offered_bytes - before.offered_bytes,
            delivered: now.delivered - before.delivered,
            delivered_bytes: now.delivered_bytes - before.delivered_bytes,
            lost: lost(drops) - lost(earlier),
            overflowed: overflowed(drops) - overflowed(earlier),
            lost_down: drops.down - earlier.down,
            too_large: drops.too_large - earlier.too_large,
            max_queue_packets: now.max_queue.packets,
            wait_p95: None,
            busy: now.busy.saturating_sub(before.busy),
        }
    }
}

/// Leaves counters out that only few scenarios have.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
