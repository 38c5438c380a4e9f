//! Settings of one association.

use std::sync::Arc;

use super::auth::AuthConfig;
use super::checksum::Edmid;
use super::cmt::CmtConfig;
use super::extensions::ExtensionConfig;
use super::failover::PfConfig;
use super::handshake::Handshake;
use super::path_mtu::PathMtuDiscovery;
use super::reconfiguration::ReconfigConfig;
use super::recovery::RecoveryConfig;
use super::reproduction::ReproductionConfig;
use super::rto::RtoConfig;
use super::sack::SackConfig;
use super::stall_detection::StallDetectionConfig;
use crate::ids::Tsn;
use crate::policy::{CcConfig, PolicyFactory, Rfc9260Policies};
use crate::protection::KeyManagement;
use crate::rng::Rng;
use crate::time::Duration;

/// Settings of one association.
#[derive(Clone, Debug)]
pub struct AssocConfig {
    /// Outbound streams that we ask for.
    pub outbound_streams: u16,
    /// Inbound streams that we allow.
    pub inbound_streams: u16,
    /// Receive buffer, payload bytes (plus [`chunk_charge`](ReproductionConfig::chunk_charge) per
    /// chunk held).
    pub receive_buffer: u32,
    /// Send buffer, payload bytes; `u64::MAX`: unlimited. What must be remembered of messages has a
    /// bound besides: together with their payload it takes at most twice as much memory and 96 KiB.
    /// Messages of some hundred bytes and more fill the buffer first, smaller ones that bound.
    pub send_buffer: u64,
    /// The receive buffer grows up to this, bytes, as the application reads what the paths deliver;
    /// `None`: it stays as it is.
    pub receive_buffer_max: Option<u32>,
    /// The send buffer grows up to this, bytes, with what the paths carry; `None`: it stays as it
    /// is.
    pub send_buffer_max: Option<u64>,
    /// The largest message that is sent or received, bytes: a larger one is refused, and a peer
    /// that sends one gets an ABORT.
    pub max_message: u32,
    /// Partial delivery (RFC 6458 section 8.1.21): the application takes messages in parts
    /// ([`Message::part`](crate::Message::part)), and what is here of a message is delivered once
    /// it is so many bytes; at most half of the receive buffer counts. A message of fewer comes
    /// whole, unless interleaved messages together hold half of the buffer. `None`: messages come
    /// whole, and one that exceeds the receive buffer ends the association.
    pub partial_delivery: Option<u32>,
    /// Path MTU to start with, IP header included. With `path_mtu_discovery`: the first size that
    /// is tried beyond its base.
    pub path_mtu: u32,
    /// Discovery of the paths' MTUs (RFC 8899); `None`: off.
    pub path_mtu_discovery: Option<PathMtuDiscovery>,
    /// Retransmission timeouts.
    pub rto: RtoConfig,
    /// HB.interval; `None`: no heartbeats but those that verify addresses.
    pub heartbeat_interval: Option<Duration>,
    /// Some heartbeats on paths without data are padded to a whole packet (RFC 4820): how much
    /// longer these take tells the path scheduler how thin such a path is. An end that was called
    /// sends them once it has sent data.
    pub rate_probes: bool,
    /// Path.Max.Retrans.
    pub path_max_retrans: u32,
    /// Association.Max.Retrans.
    pub assoc_max_retrans: u32,
    /// Max.Init.Retransmits.
    pub max_init_retrans: u32,
    /// Which paths INIT takes.
    pub handshake: Handshake,
    /// Max.Burst: packets of new data per path and send attempt, or as
    /// [`max_burst_rule`](ReproductionConfig::max_burst_rule) has it; `None`: no limit. Where data is
    /// [paced](Self::pacing) the pacer bounds bursts instead.
    pub max_burst: Option<u32>,
    /// Delayed acknowledgement.
    pub sack: SackConfig,
    /// The parts of CMT, each with its switch.
    pub cmt: CmtConfig,
    /// Extensions of the protocol that are offered to the peer.
    pub extensions: ExtensionConfig,
    /// Keys and demands of authentication.
    pub auth: AuthConfig,
    /// How the association agrees on keys that protect all its packets (the DTLS chunk); a peer
    /// that does not is refused. Takes the place of `authentication`. `None`: packets go in plain.
    pub protection: Option<Arc<dyn KeyManagement>>,
    /// What the peer may reconfigure (RFC 6525).
    pub reconfiguration: ReconfigConfig,
    /// Potentially failed paths (RFC 7829, CMT-PF); `None`: off.
    pub potentially_failed: Option<PfConfig>,
    /// Congestion control.
    pub congestion: CcConfig,
    /// Loss recovery beyond RFC 9260.
    pub recovery: RecoveryConfig,
    /// Nagle's rule: while data is in flight, new data that does not fill a packet waits for more.
    /// Off: it goes at once (SCTP_NODELAY, RFC 6458 section 8.1.5). Can be changed while the
    /// association lives: [`set_nodelay`](crate::Association::set_nodelay).
    pub nagle: bool,
    /// Spread packets with DATA over the round trip, at the rate that the congestion control names.
    /// Retransmissions and control chunks do not wait. With
    /// [SACK thinning](super::SackConfig::thinning) they are spread in any case, at twice that rate.
    pub pacing: bool,
    /// Send and take packets without a checksum where the peer does the same (RFC 9653). Counts
    /// only at an endpoint whose lower layer [detects errors] in the same way.
    ///
    /// [detects errors]: crate::config::EndpointConfig::error_detection
    pub zero_checksum: Option<Edmid>,
    /// INIT and INIT ACK without addresses and without what no RFC knows (DAC, NR-SACK): for peers
    /// that drop what they do not expect, as in WebRTC, and for hosts behind NAT (RFC 6951 section
    /// 5.4). Paths from further addresses of ours are then told to the peer by ASCONF alone.
    pub minimal_init: bool,
    /// Events that tell what limits a transfer, and that it has stopped; `None`: only the
    /// statistics do.
    pub stall_detection: Option<StallDetectionConfig>,
    /// Makes the policies.
    pub policies: Arc<dyn PolicyFactory>,
    /// Record [`TraceEvent`](crate::trace::TraceEvent)s.
    pub trace: bool,
    /// What the experiments of papers and tests alone need.
    pub reproduction: ReproductionConfig,
}

impl AssocConfig {
    pub(crate) fn first_tsn(&self, rng: &mut Rng) -> Tsn {
        self.reproduction.initial_tsn.unwrap_or_else(|| Tsn(rng.next_u32()))
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
            max_message: 16 << 20,
            partial_delivery: None,
            path_mtu: 1500,
            path_mtu_discovery: None,
            rto: RtoConfig::default(),
            heartbeat_interval: Some(Duration::from_secs(30)),
            rate_probes: false,
            path_max_retrans: 5,
            assoc_max_retrans: 10,
            max_init_retrans: 8,
            handshake: Handshake::OnePath,
            max_burst: Some(4),
            sack: SackConfig::default(),
            cmt: CmtConfig::default(),
            extensions: ExtensionConfig::NONE,
            auth: AuthConfig::default(),
            protection: None,
            reconfiguration: ReconfigConfig::default(),
            potentially_failed: None,
            congestion: CcConfig::default(),
            recovery: RecoveryConfig::OFF,
            nagle: false,
            pacing: false,
            zero_checksum: None,
            minimal_init: false,
            stall_detection: None,
            policies: Arc::new(Rfc9260Policies),
            trace: false,
            reproduction: ReproductionConfig::default(),
        }
    }
}
