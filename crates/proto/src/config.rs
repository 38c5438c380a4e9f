//! Settings of endpoints and associations. Defaults are RFC 9260's (section 16) where it has any.

mod auth;
mod checksum;
mod extensions;
mod live;
mod path_mtu;
mod reconfiguration;
mod replies;
mod watch;

pub use auth::{AuthConfig, AuthKey, HmacAlgorithm};
pub use checksum::Edmid;
pub use extensions::{AgreedExtensions, ExtensionConfig};
pub use live::{AssocSettings, SettingsError};
pub use path_mtu::PathMtuDiscovery;
pub(crate) use path_mtu::smallest_mtu;
pub use reconfiguration::ReconfigConfig;
pub use replies::ReplyLimits;
pub use watch::WatchConfig;

use core::net::IpAddr;
use std::sync::Arc;

use crate::ids::{Mid, Tsn};
use crate::policy::{PolicyFactory, Rfc9260Policies};
use crate::rng::Rng;
use crate::time::Duration;
use crate::view::PathView;

/// Settings of an endpoint: what holds before there is an association.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Our SCTP port.
    pub port: u16,
    /// The addresses that we announce and accept packets at. Only these: nothing is announced that the user did not name.
    pub addresses: Vec<IpAddr>,
    /// How packets are carried; decides the header bytes that count against the path MTU.
    pub encapsulation: Encapsulation,
    /// How the layer below detects errors, if it does so well enough to spare SCTP's checksum: what drives the endpoint must know. Never plain UDP
    /// or IP.
    pub error_detection: Option<Edmid>,
    /// Answer INITs from strangers.
    pub accept: bool,
    /// Answer packets for other SCTP ports at our addresses with ABORT, as packets for a port that nobody uses (RFC 9260 section 8.4). Off:
    /// another endpoint may have them, and is handed them by whoever drives both.
    pub refuse_other_ports: bool,
    /// Associations at the same time, at most; INITs beyond it are answered with ABORT (Out of Resource).
    pub max_associations: usize,
    /// Associations with one address of peers, at most, so that nobody has all of them alone (RFC 9260 section 12.2.4.3); INITs beyond it are answered
    /// with ABORT (Out of Resource). Many hosts may stand behind one IPv4 address; of IPv6 addresses, all with the first 64 bits in common count as
    /// one, because a host has as many of these as it likes. Has no effect unless it is below `max_associations`.
    pub max_associations_per_address: usize,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
    /// Age at which the secret that signs cookies is replaced; the previous one stays valid for `cookie_life`.
    pub cookie_key_life: Duration,
    /// A NAT stands between us and our peers, so that our addresses mean nothing to them: INIT and INIT ACK announce none, and
    /// further ones are told by wildcards, which stand for the source of the packet (RFC 5061, RFC 6951 section 4.1).
    pub behind_nat: bool,
    /// Which pairs (local, remote) become paths of an association that we accept, or of the peer's further addresses.
    pub pairing: PathPairing,
    /// How often strangers are answered.
    pub replies: ReplyLimits,
    /// Settings of the associations that peers open.
    pub assoc: Arc<AssocConfig>,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            port: 9,
            addresses: Vec::new(),
            encapsulation: Encapsulation::Raw,
            error_detection: None,
            accept: true,
            refuse_other_ports: false,
            max_associations: 1024,
            max_associations_per_address: 512,
            cookie_life: Duration::from_secs(60),
            cookie_key_life: Duration::from_secs(3600),
            behind_nat: false,
            pairing: PathPairing::Mesh,
            replies: ReplyLimits::default(),
            assoc: Arc::new(AssocConfig::default()),
        }
    }
}

/// How SCTP packets are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encapsulation {
    /// Directly over IP, protocol 132.
    Raw,
    /// In UDP (RFC 6951).
    Udp,
}

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

/// Settings of one association.
#[derive(Clone, Debug)]
pub struct AssocConfig {
    /// Outbound streams that we ask for.
    pub outbound_streams: u16,
    /// Inbound streams that we allow.
    pub inbound_streams: u16,
    /// Receive buffer, payload bytes (plus `chunk_charge` per chunk held).
    pub receive_buffer: u32,
    /// Send buffer, payload bytes; `u64::MAX`: unlimited. What must be remembered of messages has a bound besides: together with their payload it
    /// takes at most twice as much memory and 96 KiB. Messages of some hundred bytes and more fill the buffer first, smaller ones that bound.
    pub send_buffer: u64,
    /// The receive buffer grows up to this, bytes, as the application reads what the paths deliver; `None`: it stays as it is.
    pub receive_buffer_max: Option<u32>,
    /// The send buffer grows up to this, bytes, with what the paths carry; `None`: it stays as it is.
    pub send_buffer_max: Option<u64>,
    /// Charge per DATA chunk against the receive window, at both ends, beside its payload. RFC 9260: 0; ns-2 counts the
    /// 16 bytes of the header; FreeBSD 256.
    pub chunk_charge: u32,
    /// The largest message that is sent or received, bytes: a larger one is refused, and a peer that sends one gets an ABORT.
    pub max_message: u32,
    /// Partial delivery (RFC 6458 section 8.1.21): the application takes messages in parts ([`Message::part`](crate::Message::part)), and what
    /// is here of a message is delivered once it is so many bytes; at most half of the receive buffer counts. A message of fewer comes
    /// whole, unless interleaved messages together hold half of the buffer. `None`: messages come whole, and one that exceeds
    /// the receive buffer ends the association.
    pub partial_delivery: Option<u32>,
    /// Path MTU to start with, IP header included. With `path_mtu_discovery`: the first size that is tried beyond its base.
    pub path_mtu: u32,
    /// Discovery of the paths' MTUs (RFC 8899); `None`: off.
    pub path_mtu_discovery: Option<PathMtuDiscovery>,
    /// Retransmission timeouts.
    pub rto: RtoConfig,
    /// HB.interval; `None`: no heartbeats but those that verify addresses.
    pub heartbeat_interval: Option<Duration>,
    /// Path.Max.Retrans.
    pub path_max_retrans: u32,
    /// Association.Max.Retrans.
    pub assoc_max_retrans: u32,
    /// Max.Init.Retransmits.
    pub max_init_retrans: u32,
    /// Which paths INIT takes.
    pub handshake: Handshake,
    /// Max.Burst: packets of new data per path and send attempt; `None`: no limit.
    pub max_burst: Option<u32>,
    /// When Max.Burst applies.
    pub max_burst_rule: BurstRule,
    /// After a T3-rtx expiry one packet alone is in flight on the path until something of it is acknowledged (RFC 9260 section 7.2.1). Off: beside the
    /// packet that the window of one packet takes, one of retransmissions may ignore it, as in what the named profiles were measured with.
    pub one_packet_after_timeout: bool,
    /// Miss indications for a fast retransmit (RFC 9260: 3; RFC 2960: 4).
    pub fast_retransmit_after: u32,
    /// Delayed acknowledgement.
    pub sack: SackConfig,
    /// The parts of CMT, each with its switch.
    pub cmt: CmtConfig,
    /// Extensions of the protocol that are offered to the peer.
    pub extensions: ExtensionConfig,
    /// Keys and demands of authentication.
    pub auth: AuthConfig,
    /// What the peer may reconfigure (RFC 6525).
    pub reconfiguration: ReconfigConfig,
    /// Potentially failed paths (RFC 7829, CMT-PF); `None`: off.
    pub potentially_failed: Option<PfConfig>,
    /// Congestion control.
    pub congestion: CcConfig,
    /// Loss recovery beyond RFC 9260.
    pub recovery: RecoveryConfig,
    /// Nagle's rule: while data is in flight, new data that does not fill a packet waits for more. Off: it goes at once (SCTP_NODELAY, RFC 6458
    /// section 8.1.5). Can be changed while the association lives: [`set_nodelay`](crate::Association::set_nodelay).
    pub nagle: bool,
    /// Spread packets with DATA over the round trip, at the rate that the congestion control names. Retransmissions and
    /// control chunks do not wait.
    pub pacing: bool,
    /// Send and take packets without a checksum where the peer does the same (RFC 9653). Counts only at an endpoint whose lower layer
    /// [detects errors](EndpointConfig::error_detection) in the same way.
    pub zero_checksum: Option<Edmid>,
    /// INIT and INIT ACK without addresses and without what no RFC knows (DAC, NR-SACK): for peers that drop what they do not expect, as in
    /// WebRTC, and for hosts behind NAT (RFC 6951 section 5.4). Paths from further addresses of ours are then told to the peer by ASCONF alone.
    pub bare_init: bool,
    /// Events that tell what limits a transfer, and that it has stopped; `None`: only the statistics do.
    pub watch: Option<WatchConfig>,
    /// Makes the policies.
    pub policies: Arc<dyn PolicyFactory>,
    /// Our first TSN. `None`: random, as RFC 9260 section 3.3.2 wants it; a given one is for tests of the wrap.
    pub initial_tsn: Option<Tsn>,
    /// The first MID of every stream in either direction. RFC 8260 section 2.1: 0; another one, at both ends, is for tests of the wrap.
    pub first_mid: Mid,
    /// Record [`TraceEvent`](crate::trace::TraceEvent)s.
    pub trace: bool,
}

impl AssocConfig {
    pub(crate) fn first_tsn(&self, rng: &mut Rng) -> Tsn {
        self.initial_tsn.unwrap_or_else(|| Tsn(rng.next_u32()))
    }
}

impl Default for AssocConfig {
    fn default() -> Self {
        Self {
            outbound_streams: 10,
            inbound_streams: 2048,
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            receive_buffer_max: None,
            send_buffer_max: None,
            chunk_charge: 0,
            max_message: 16 << 20,
            partial_delivery: None,
            path_mtu: 1500,
            path_mtu_discovery: None,
            rto: RtoConfig::default(),
            heartbeat_interval: Some(Duration::from_secs(30)),
            path_max_retrans: 5,
            assoc_max_retrans: 10,
            max_init_retrans: 8,
            handshake: Handshake::OnePath,
            max_burst: Some(4),
            max_burst_rule: BurstRule::Always,
            one_packet_after_timeout: true,
            fast_retransmit_after: 3,
            sack: SackConfig::default(),
            cmt: CmtConfig::default(),
            extensions: ExtensionConfig::NONE,
            auth: AuthConfig::default(),
            reconfiguration: ReconfigConfig::default(),
            potentially_failed: None,
            congestion: CcConfig::default(),
            recovery: RecoveryConfig::OFF,
            nagle: false,
            pacing: false,
            zero_checksum: None,
            bare_init: false,
            watch: None,
            policies: Arc::new(Rfc9260Policies),
            initial_tsn: None,
            first_mid: Mid(0),
            trace: false,
        }
    }
}

/// Which paths INIT takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The first of those that the user named; the next one when T1-init expires (RFC 9260 section 5.1).
    OnePath,
    /// All that the user named, each time: a dead path costs nothing. The first INIT ACK counts.
    AllPaths,
}

/// When Max.Burst applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstRule {
    /// In every send attempt (RFC 9260 section 6.1 D).
    Always,
    /// Only when the SACK acknowledged a chunk that had been fast-retransmitted (ns-2's module, S1 and S2).
    AfterFastRetransmit,
    /// Once for every two packets of the path that were acknowledged since the last attempt, at least once: a SACK that answers a
    /// whole batch, or SACKs that arrive in one, allow as much as if they had come one by one.
    PerAcked,
}

/// Retransmission timeout (RFC 9260 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// RTO.Initial. RFC 9260: 1 s; RFC 4960, ns-2 and INET: 3 s.
    pub initial: Duration,
    /// RTO.Min.
    pub min: Duration,
    /// RTO.Max.
    pub max: Duration,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        }
    }
}

/// Delayed acknowledgement (RFC 9260 section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackConfig {
    /// SACK.Delay; RFC 9260 forbids more than 500 ms.
    pub delay: Duration,
    /// A SACK for every so many packets with DATA.
    pub every: u32,
    /// Which path a SACK takes.
    pub path: SackPath,
    /// Send a SACK when the application has freed a quarter of the buffer, or a shut window reopens. Off, as in ns-2's
    /// module: the peer learns of room by the SACKs for its data alone, and by probes.
    pub window_updates: bool,
    /// Where DAC does not delay it anyway, answer at once the packet that fills the last gap: RFC 5681 section 4.2 asks
    /// for it, RFC 9260 section 6.7 leaves it open. Off, as in ns-2's module: a packet that leaves no gap waits for the
    /// next one, or for the delay.
    pub filled_gap: bool,
    /// DAC: tell, and let count, the packets that a SACK of the delay's timer covers. Off, as in ns-2's module, whose timer
    /// clears the count before it writes the SACK: such a SACK alone makes no chunk missing.
    pub timer_count: bool,
    /// Gap ack blocks that a SACK reports at most, the lowest first; in an NR-SACK, blocks of both kinds together. `None`: as many as its packet
    /// takes. RFC 9260 section 3.3.4 leaves the number to the receiver; Linux reports 16.
    pub max_gap_blocks: Option<u16>,
}

impl Default for SackConfig {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(200),
            every: 2,
            path: SackPath::LastData,
            window_updates: true,
            filled_gap: true,
            timer_count: true,
            max_gap_blocks: None,
        }
    }
}

/// Which path a SACK takes (algorithms of S0's simulator; load-bearing with dissimilar delays).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackPath {
    /// Back along the path of the last DATA (RFC 9260 section 6.4).
    LastData,
    /// Back along the path of the first DATA since the last SACK, as RFC 9260 section 6.4 allows as well; the INET model's rule.
    FirstData,
    /// The primary path.
    Primary,
    /// Among the paths on which DATA arrived since the last SACK, the one that carried a SACK longest ago.
    RoundRobin,
    /// The path with the smallest smoothed RTT. An experiment option: RFC 9260 says not to vary the destination.
    SmallestSrtt,
}

/// The parts of CMT (Iyengar et al. 2006).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmtConfig {
    /// Split fast retransmit: miss indications only from newer TSNs of the same path. Off: RFC 9260's HTNA over all paths.
    pub sfr: bool,
    /// Cwnd update for CMT.
    pub cuc: Cuc,
    /// Delayed ack for CMT: delay SACKs in spite of gaps, and tell how many packets a SACK covers.
    pub dac: bool,
    /// Use DAC although the peer does not announce it: for stacks that are known to count the packets behind a SACK, but have
    /// no way to say so (FreeBSD, usrsctp).
    pub dac_unannounced: bool,
    /// NR-SACK (draft-natarajan-tsvwg-sctp-nrsack).
    pub nr_sack: NrSack,
    /// Which chunks a first T3-rtx expiry marks.
    pub t3_marks: T3Marks,
    /// Take RTT samples only from SACKs that arrive on the path of the chunk (the rule of the INET model).
    pub rtt_same_path: bool,
}

impl Default for CmtConfig {
    fn default() -> Self {
        Self {
            sfr: true,
            cuc: Cuc::V2,
            dac: true,
            dac_unannounced: false,
            nr_sack: NrSack::Off,
            t3_marks: T3Marks::All,
            rtt_same_path: true,
        }
    }
}

/// Cwnd update for CMT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuc {
    /// Windows grow only when the cum-ack advances (RFC 9260).
    Off,
    /// One pseudo-cum-ack per path (Iyengar 2004).
    V1,
    /// Two: of chunks sent once, and of chunks sent again (Iyengar 2006).
    V2,
}

/// When a TSN above the cum-ack is reported as non-renegable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NrSack {
    /// Plain SACKs.
    Off,
    /// Once it was delivered to the application (S0, S4).
    Delivered,
    /// As soon as it was received: a receiver that never reneges.
    Received,
}

/// Which chunks of a path its first T3-rtx expiry marks for retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum T3Marks {
    /// All that are in flight.
    All,
    /// Those sent at least one SRTT ago (Iyengar 2004's amendment), or one RTO where its bound makes that shorter; all of them at
    /// later expiries.
    OlderThanSrtt,
}

/// Potentially failed paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfConfig {
    /// PFMR: a path is potentially failed once its error counter exceeds this. 0: at the first timeout.
    pub max_retrans: u32,
    /// cwnd in MTUs when a HEARTBEAT ACK brings the path back (CMT-PF2: 2).
    pub return_mtus: u32,
    /// Probe a failed path, inactive ones included, whenever it has been down for a tenth longer than at the last probe, but
    /// at least this often and not more often than once per RTO: so its return is noticed within a tenth of what it was
    /// away, and a path that stays away costs little. `None`: with exponential back-off, and every HB.interval once it is inactive
    /// (RFC 7829 section 3, RFC 9260 section 8.3).
    pub probe: Option<Duration>,
    /// Data sent more than once, but on one path alone, proves by its acknowledgement that the path works (RFC 7829 section 3.2, item 10). Off:
    /// only data sent once does, as in CMT-PF.
    pub one_path_proves: bool,
}

impl Default for PfConfig {
    fn default() -> Self {
        Self { max_retrans: 0, return_mtus: 2, probe: None, one_path_proves: false }
    }
}

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

/// Settings that every congestion control shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CcConfig {
    /// What "MTU" means in the window formulas.
    pub unit: CwndUnit,
    /// Initial congestion window of a path.
    pub initial_cwnd: InitialCwnd,
    /// Initial slow start threshold of a path.
    pub initial_ssthresh: InitialSsthresh,
    /// The smallest ssthresh after a loss, in MTUs. RFC 9260: 4; ns-2's module: 2.
    pub loss_floor_mtus: u32,
    /// L of appropriate byte counting: slow start growth per SACK, in MTUs, at most.
    pub abc_limit: u32,
}

impl Default for CcConfig {
    fn default() -> Self {
        Self {
            unit: CwndUnit::Pmdcs,
            initial_cwnd: InitialCwnd::Rfc9260,
            initial_ssthresh: InitialSsthresh::PeerWindow,
            loss_floor_mtus: 4,
            abc_limit: 1,
        }
    }
}

impl CcConfig {
    /// The "MTU" of the window formulas on `path`, bytes.
    pub const fn mtu(&self, path: &PathView) -> u64 {
        match self.unit {
            CwndUnit::Pmdcs => path.pmdcs as u64,
            CwndUnit::PathMtu => path.mtu as u64,
        }
    }
}

/// What "MTU" means in the window formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndUnit {
    /// The largest DATA chunk that fits (RFC 9260).
    Pmdcs,
    /// The path MTU, as in the simulators of the papers.
    PathMtu,
}

/// Initial congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialCwnd {
    /// min(4 MTU, max(2 MTU, 4404 bytes)), over IPv6 4344 bytes (RFC 9260 section 7.2.1).
    Rfc9260,
    /// So many bytes.
    Bytes(u64),
    /// So many MTUs.
    Mtus(u32),
}

/// Initial slow start threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialSsthresh {
    /// The window that the peer announced at set-up; with `send_buffer_max` that bound, since windows may grow.
    PeerWindow,
    /// So many bytes.
    Bytes(u64),
}
