//! The SCTP stack: a profile, and single settings on top.

use polypath_policies::profile::Profile;
use polypath_proto::config::{
    BurstRule, Cuc, CwndUnit, Extension, NrSack, Rescheduling, SackPath, T3Marks,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::settings;
use crate::units::{Burst, Delay, InitialWindow, Interval, Limit, Mtus, Packets, Size, Threshold};

/// What protects packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// Nothing.
    None,
    /// DTLS chunks with the exchanges, records and sizes of TLS 1.3 and AES-GCM, but without
    /// cryptography: 28 bytes of each packet, and a set-up as long as the real one's. Nothing is
    /// secret.
    StandIn,
}

settings! {
    /// Settings of one end's stack. What is absent comes from the profile.
    pub struct StackSettings {
        /// The settings to start from. Absent: paper.
        profile: Profile,
        /// Which path carries the next new data, such as rr, min-rtt or "rr?visit=packet" (see
        /// `polypath policies`).
        path_scheduler: String,
        /// Which stream's message is next, such as fcfs or rr.
        stream_scheduler: String,
        /// Which path carries a retransmission, such as same or ssthresh.
        retransmission: String,
        /// How paths share the buffers, such as shared or "split?side=both&by=queued".
        buffer: String,
        /// Congestion control, such as rfc9260 or rp-v1.
        congestion: String,
        /// Outbound streams to ask for; at least those that the application uses.
        outbound_streams: u16,
        /// Inbound streams to allow.
        inbound_streams: u16,
        /// Receive buffer: payload, and `chunk-charge` for each chunk held.
        receive_buffer: Size,
        /// Send buffer: payload.
        send_buffer: Limit,
        /// The receive buffer grows up to this as the application reads what the paths deliver.
        /// Absent: it stays as it is.
        receive_buffer_max: Size,
        /// The send buffer grows up to this with what the paths carry. Absent: it stays as it is.
        send_buffer_max: Size,
        /// What a chunk costs in the receive window beside its payload. RFC 9260: 0B; ns-2: 16B;
        /// FreeBSD: 256B.
        chunk_charge: Size,
        /// The largest message that is sent or reassembled.
        max_message: Size,
        /// Path MTU, IP header included.
        mtu: Size,
        /// Find out by probes how large packets may be on each path (RFC 8899); `mtu` is then a
        /// guess.
        path_mtu_discovery: bool,
        /// path-mtu-discovery: the size of packets on a path until a larger one is proven. Absent:
        /// 1200B, over IPv6 1280B.
        path_mtu_base: Size,
        /// path-mtu-discovery: no larger packet is tried. Absent: 9000B.
        path_mtu_max: Size,
        /// RTO.Initial. RFC 9260: 1s; RFC 4960, ns-2 and INET: 3s.
        rto_initial: Delay,
        /// RTO.Min.
        rto_min: Delay,
        /// RTO.Max.
        rto_max: Delay,
        /// HB.interval; off leaves only the heartbeats that verify addresses.
        heartbeat: Interval,
        /// Path.Max.Retrans.
        path_max_retrans: u32,
        /// Association.Max.Retrans.
        assoc_max_retrans: u32,
        /// Max.Init.Retransmits.
        max_init_retrans: u32,
        /// Max.Burst: packets of new data per path and send attempt.
        max_burst: Burst,
        /// When Max.Burst applies.
        max_burst_rule: BurstRule,
        /// Miss indications for a fast retransmit. RFC 9260: 3; RFC 2960: 4.
        fast_retransmit_after: u32,
        /// SACK.Delay; at most 500ms.
        sack_delay: Delay,
        /// A SACK for every so many packets with DATA.
        sack_every: Packets,
        /// SACKs that tell of freed buffer space. Off, as in ns-2's module: only data and probes
        /// draw SACKs.
        window_updates: bool,
        /// Without DAC, a SACK at once for the packet that fills the last gap (RFC 5681). Off, as
        /// in ns-2's module: that packet waits for the next one, or for sack-delay.
        sack_when_gap_fills: bool,
        /// DAC: packets that a SACK of the delay's timer covers count as reports of what is
        /// missing. Off, as in ns-2's module, whose timer forgets them.
        dac_count_in_timer_sack: bool,
        /// Which path a SACK takes.
        sack_path: SackPath,
        /// SACKs that are shorter, with what is new, and fewer where they queue on the way back, as
        /// far as both ends agree. Needs nr-sack = "received".
        sack_thinning: bool,
        /// Padded heartbeats on paths without data, which tell how thin these are.
        rate_probes: bool,
        /// Gap ack blocks that a SACK reports at most, the lowest first. Linux: 16. Absent: as many
        /// as its packet takes.
        max_gap_blocks: u16,
        /// Split fast retransmit (CMT).
        sfr: bool,
        /// Cwnd update for CMT.
        cuc: Cuc,
        /// Delayed ack for CMT.
        dac: bool,
        /// NR-SACK, and when a chunk counts as non-renegable.
        nr_sack: NrSack,
        /// Which chunks of a path its first T3-rtx expiry marks for retransmission.
        t3_marks: T3Marks,
        /// Take RTT samples only from SACKs that arrive on the chunk's path.
        rtt_same_path: bool,
        /// Extensions that this end offers; one is used when both offer it.
        extensions: Vec<Extension>,
        /// What protects packets: both ends need the same. Absent: none.
        protection: Protection,
        /// Time-based loss detection (RFC 8985).
        rack: bool,
        /// Tail-loss probes (RFC 8985 section 7).
        tail_probe: bool,
        /// Proportional rate reduction in fast recovery (RFC 6937).
        rate_reduction: bool,
        /// Detection of spurious timeouts (F-RTO, RFC 5682).
        f_rto: bool,
        /// When chunks in flight on one path are sent again on another.
        rescheduling: Rescheduling,
        /// Spread packets over the round trip, at a rate a little above a window per round trip.
        pacing: bool,
        /// Potentially failed paths (RFC 7829, CMT-PF).
        pf: bool,
        /// PFMR: a path is potentially failed once its error counter exceeds this.
        pf_max_retrans: u32,
        /// Window of a path that comes back from potentially failed.
        pf_return_cwnd: Mtus,
        /// A failed path is probed whenever it has been down for a tenth longer, but at least this
        /// often. "off": with exponential back-off (RFC 7829).
        pf_probe: Interval,
        /// What "MTU" means in the window formulas.
        cwnd_unit: CwndUnit,
        /// Initial congestion window of a path.
        initial_cwnd: InitialWindow,
        /// Initial slow start threshold of a path.
        initial_ssthresh: Threshold,
        /// The smallest ssthresh after a loss. RFC 9260: 4mtu; ns-2's module: 2mtu.
        loss_floor: Mtus,
        /// L of appropriate byte counting: slow start growth per SACK, at most.
        abc_limit: Mtus,
    }

    /// The stack of both ends, and what differs at one of them.
    pub struct StackSpec {
        /// What differs at the end that sends the flow's data.
        sender: StackSettings,
        /// What differs at the end that receives it.
        receiver: StackSettings,
    }
}
