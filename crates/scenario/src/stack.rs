//! The SCTP stack: a profile, and single settings on top.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::settings;
use crate::units::{Burst, Delay, InitialWindow, Interval, Limit, Mtus, Packets, Size, Threshold};

settings! {
    /// Settings of one end's stack. What is absent comes from the profile.
    pub struct StackSettings {
        /// The settings to start from. Absent: paper.
        profile: Profile,
        /// Which path carries the next new data, such as rr, min-rtt or "rr?visit=packet" (see `polypath policies`).
        path_scheduler: String,
        /// Which stream's message is next, such as fcfs or rr.
        stream_scheduler: String,
        /// Which path carries a retransmission, such as same or ssthresh.
        retransmission: String,
        /// How paths share the buffers, such as shared or "split?side=both&by=queued".
        buffer: String,
        /// Congestion control, such as cmt or rp-v1.
        congestion: String,
        /// Outbound streams to ask for; at least those that the application uses.
        outbound_streams: u16,
        /// Inbound streams to allow.
        inbound_streams: u16,
        /// Receive buffer: payload, and `chunk-charge` for each chunk held.
        receive_buffer: Size,
        /// Send buffer: payload.
        send_buffer: Limit,
        /// The receive buffer grows up to this as the application reads what the paths deliver. Absent: it stays as it is.
        receive_buffer_max: Size,
        /// The send buffer grows up to this with what the paths carry. Absent: it stays as it is.
        send_buffer_max: Size,
        /// What a chunk costs in the receive window beside its payload. RFC 9260: 0B; ns-2: 16B; FreeBSD: 256B.
        chunk_charge: Size,
        /// The largest message that is sent or reassembled.
        max_message: Size,
        /// Path MTU, IP header included.
        mtu: Size,
        /// Find out by probes how large packets may be on each path (RFC 8899); `mtu` is then a guess.
        path_mtu_discovery: bool,
        /// path-mtu-discovery: the size of packets on a path until a larger one is proven. Absent: 1200B, over IPv6 1280B.
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
        max_burst_rule: BurstRuleSetting,
        /// Miss indications for a fast retransmit. RFC 9260: 3; RFC 2960: 4.
        fast_retransmit_after: u32,
        /// SACK.Delay; at most 500ms.
        sack_delay: Delay,
        /// A SACK for every so many packets with DATA.
        sack_every: Packets,
        /// SACKs that tell of freed buffer space. Off, as in ns-2's module: only data and probes draw SACKs.
        window_updates: bool,
        /// Without DAC, a SACK at once for the packet that fills the last gap (RFC 5681). Off, as in ns-2's module: that
        /// packet waits for the next one, or for sack-delay.
        sack_filled_gap: bool,
        /// DAC: packets that a SACK of the delay's timer covers count as reports of what is missing. Off, as in ns-2's
        /// module, whose timer forgets them.
        dac_timer_count: bool,
        /// Which path a SACK takes.
        sack_path: SackPathSetting,
        /// Gap ack blocks that a SACK reports at most, the lowest first. Linux: 16. Absent: as many as its packet takes.
        max_gap_blocks: u16,
        /// Split fast retransmit (CMT).
        sfr: bool,
        /// Cwnd update for CMT.
        cuc: CucSetting,
        /// Delayed ack for CMT.
        dac: bool,
        /// NR-SACK, and when a chunk counts as non-renegable.
        nr_sack: NrSackSetting,
        /// Which chunks of a path its first T3-rtx expiry marks for retransmission.
        t3_marks: T3MarksSetting,
        /// Take RTT samples only from SACKs that arrive on the chunk's path.
        rtt_same_path: bool,
        /// Extensions that this end offers; one is used when both offer it.
        extensions: Vec<ExtensionSetting>,
        /// Time-based loss detection (RFC 8985).
        rack: bool,
        /// Tail-loss probes (RFC 8985 section 7).
        tail_probe: bool,
        /// Proportional rate reduction in fast recovery (RFC 6937).
        rate_reduction: bool,
        /// Detection of spurious timeouts (F-RTO, RFC 5682).
        f_rto: bool,
        /// When chunks in flight on one path are sent again on another.
        rescheduling: ReschedulingSetting,
        /// Spread packets over the round trip, at a rate a little above a window per round trip.
        pacing: bool,
        /// Potentially failed paths (RFC 7829, CMT-PF).
        pf: bool,
        /// PFMR: a path is potentially failed once its error counter exceeds this.
        pf_max_retrans: u32,
        /// Window of a path that comes back from potentially failed.
        pf_return_cwnd: Mtus,
        /// A failed path is probed whenever it has been down for a tenth longer, but at least this often. "off": with
        /// exponential back-off (RFC 7829).
        pf_probe: Interval,
        /// What "MTU" means in the window formulas.
        cwnd_unit: CwndUnitSetting,
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

/// An extension of RFC 9260.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExtensionSetting {
    /// Authenticated chunks (RFC 4895).
    Auth,
    /// Addresses that come and go (RFC 5061); needs auth.
    Asconf,
    /// I-DATA: messages of different streams are interleaved (RFC 8260).
    IData,
    /// Messages that may be given up (RFC 3758).
    PrSctp,
    /// Streams that are reset and added (RFC 6525).
    ReConfig,
}

/// Settings to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// RFC 9260 with CMT: SFR, CUC version 2 and DAC on; NR-SACK and PF off; scheduler rr, retransmission ssthresh,
    /// shared buffers, congestion control cmt; all timers and windows as in RFC 9260.
    #[default]
    Paper,
    /// As paper, with what the CMT module of ns-2.35 does in its place: a receiver that tells of no freed room, delays the
    /// SACK for the packet that fills a gap and lets no SACK of the timer count for DAC; 16 bytes charged per chunk;
    /// RTO.Initial 3s; windows that begin with 4380B and ssthresh 64KiB and fall to 2mtu; Max.Burst after fast retransmits
    /// alone; RTT samples from any path; an unlimited send buffer.
    Ns2,
    /// What one would deploy: as paper, with the schedulers knapsack and needs and the retransmission policy soonest,
    /// congestion control cmt coupled among paths that were found to share a bottleneck;
    /// NR-SACK for all that was received, SACKs on the path of the smallest RTT, RTT samples whichever way they came; RACK,
    /// tail-loss probes, rate reduction, F-RTO, rescheduling from silent paths; PF with probes every second at least; RTO.Min
    /// 200ms, RTO.Max 10s, SACK delay 50ms, heartbeats four times a second, buffers of 4MiB.
    Fast,
}

/// When Max.Burst applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstRuleSetting {
    /// In every send attempt (RFC 9260).
    Always,
    /// Only after a SACK for a chunk that had been fast-retransmitted (ns-2's module, S1 and S2).
    AfterFastRetransmit,
    /// Once for every two packets that were acknowledged since the last attempt.
    PerAcked,
}

/// Which path a SACK takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackPathSetting {
    /// Back along the path of the last DATA (RFC 9260).
    LastData,
    /// Back along the path of the first DATA since the last SACK (the INET model).
    FirstData,
    /// The primary path.
    Primary,
    /// Of the paths with DATA since the last SACK, the one that carried a SACK longest ago.
    RoundRobin,
    /// The path with the smallest smoothed RTT.
    SmallestSrtt,
}

/// Cwnd update for CMT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CucSetting {
    /// Windows grow only when the cumulative ack advances.
    Off,
    /// Version 1: one pseudo-cumulative ack per path.
    V1,
    /// Version 2: two of them, for chunks sent once and chunks sent again.
    V2,
}

/// When a chunk above the cumulative ack is reported as non-renegable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NrSackSetting {
    /// Never: plain SACKs.
    Off,
    /// Once it was delivered to the application.
    Delivered,
    /// As soon as it was received.
    Received,
}

/// Which chunks a first T3-rtx expiry marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum T3MarksSetting {
    /// All in flight on the path.
    All,
    /// Those sent at least one SRTT ago.
    OlderThanSrtt,
}

/// When chunks in flight on one path are sent again on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReschedulingSetting {
    /// Never.
    Off,
    /// When a chunk in flight on one path keeps what another delivered in the buffers (Dreibholz et al. 2010).
    Blocked,
    /// When a path is silent although others are heard of.
    Silent,
    /// Blocked and silent.
    Both,
}

/// What "MTU" means in the window formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CwndUnitSetting {
    /// The largest DATA chunk that fits (RFC 9260).
    Pmdcs,
    /// The path MTU, as in the papers' simulators.
    PathMtu,
}
