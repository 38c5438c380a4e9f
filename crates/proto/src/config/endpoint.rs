//! Settings of an endpoint.

use core::net::IpAddr;
use std::sync::Arc;

use super::association::AssocConfig;
use super::checksum::Edmid;
use super::pairing::PathPairing;
use super::replies::ReplyLimits;
use crate::time::Duration;

/// Settings of an endpoint: what holds before there is an association.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Our SCTP port.
    pub port: u16,
    /// The addresses that we announce and accept packets at. Only these: nothing is announced that
    /// the user did not name.
    pub addresses: Vec<IpAddr>,
    /// How packets are carried; decides the header bytes that count against the path MTU.
    pub encapsulation: Encapsulation,
    /// How the layer below detects errors, if it does so well enough to spare SCTP's checksum: what
    /// drives the endpoint must know. Never plain UDP or IP.
    pub error_detection: Option<Edmid>,
    /// Answer INITs from strangers.
    pub accept: bool,
    /// Answer packets for other SCTP ports at our addresses with ABORT, as packets for a port that
    /// nobody uses (RFC 9260 section 8.4). Off: another endpoint may have them, and is handed them
    /// by whoever drives both.
    pub refuse_other_ports: bool,
    /// Associations at the same time, at most; INITs beyond it are answered with ABORT (Out of
    /// Resource).
    pub max_associations: usize,
    /// Associations with one address of peers, at most, so that nobody has all of them alone (RFC
    /// 9260 section 12.2.4.3); INITs beyond it are answered with ABORT (Out of Resource). Many
    /// hosts may stand behind one IPv4 address; of IPv6 addresses, all with the first 64 bits in
    /// common count as one, because a host has as many of these as it likes. Has no effect unless
    /// it is below `max_associations`.
    pub max_associations_per_address: usize,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
    /// Age at which the secret that signs cookies is replaced; the previous one stays valid for
    /// `cookie_life`.
    pub cookie_key_life: Duration,
    /// A NAT stands between us and our peers, so that our addresses mean nothing to them: INIT and
    /// INIT ACK announce none, and further ones are told by wildcards, which stand for the source
    /// of the packet (RFC 5061, RFC 6951 section 4.1).
    pub behind_nat: bool,
    /// Which pairs (local, remote) become paths of an association that we accept, or of the peer's
    /// further addresses.
    pub pairing: PathPairing,
    /// How often strangers are answered.
    pub replies: ReplyLimits,
    /// Keep the chunks of protected packets as they were before they were sealed, and after they
    /// were opened, until the next packet: for captures
    /// ([`Endpoint::plain_sent`](crate::Endpoint::plain_sent),
    /// [`Endpoint::plain_received`](crate::Endpoint::plain_received)).
    pub keeps_plain: bool,
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
            keeps_plain: false,
            assoc: Arc::new(AssocConfig::default()),
        }
    }
}

/// How SCTP packets are carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Encapsulation {
    /// Directly over IP, protocol 132.
    #[default]
    Raw,
    /// In UDP (RFC 6951).
    Udp,
}
