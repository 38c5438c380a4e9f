//! What ICMP says of packets of ours (RFC 9260 section 10, RFC 6951 section 5.5). Anybody can write
//! an ICMP message; only who saw the packet that it quotes knows the verification tag in it.

use polypath_wire::COMMON_HEADER_LEN;
use polypath_wire::chunk::kind;

use super::Endpoint;
use super::icmp_report::IcmpReport;
use super::table::Tag;
use crate::association::Association;
use crate::ids::FourTuple;
use crate::time::Time;

/// What the beginning of a packet of ours tells.
struct Quote {
    local_port: u16,
    peer_port: u16,
    tag: u32,
    /// The Initiate Tag, if it begins with INIT.
    init: Option<u32>,
}

impl Endpoint {
    /// Takes an ICMP message about a packet that went along `tuple`. `quoted`: what it quotes of
    /// it, from the SCTP common header on. False if the message is dropped: it does not prove that
    /// its sender saw a packet of ours, or asks for something impossible.
    pub fn handle_icmp(
        &mut self,
        now: Time,
        tuple: FourTuple,
        quoted: &[u8],
        report: IcmpReport,
    ) -> bool {
        let Some(quote) = Quote::read(quoted) else { return false };
        if quote.local_port != self.config.port {
            return false;
        }
        let encapsulated = self.config.encapsulation == crate::config::Encapsulation::Udp;
        let found = self.table.find_quoted(&tuple, quote.peer_port, quote.named());
        let Some(assoc) = found.and_then(|h| self.table.touch(h)) else { return false };
        if !quote.is_of(assoc) {
            return false;
        }
        if assoc.demands_protection() && !matches!(report, IcmpReport::PacketTooBig { .. }) {
            // Anybody who saw the packet may have written it.
            assoc.on_hint(now);
            return true;
        }
        match report {
            IcmpReport::PortUnreachable if !encapsulated => false,
            IcmpReport::PortUnreachable => assoc.port_unreachable(now, tuple, quote.init.is_some()),
            IcmpReport::ProtocolUnreachable => assoc.protocol_unreachable(quote.init.is_some()),
            IcmpReport::Unreachable => {
                assoc.path_failed(now, tuple);
                true
            }
            IcmpReport::PacketTooBig { mtu } if assoc.demands_protection() => {
                let path = assoc.paths.by_addresses(tuple);
                path.is_some_and(|p| assoc.doubt_path_mtu(now, p, mtu))
            }
            IcmpReport::PacketTooBig { mtu } => {
                let path = assoc.paths.by_addresses(tuple);
                path.is_some_and(|p| assoc.path_carries(now, p, mtu))
            }
        }
    }

    /// The system refused to send `packet`, as [`poll_transmit`](Self::poll_transmit) gave it, on
    /// `tuple` because it is too large for the interface, which carries IP packets of `carried`
    /// bytes, if the system says so. Its data is sent again at once.
    pub fn packet_refused(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &[u8],
        carried: Option<u32>,
    ) {
        // Others may go to another SCTP port at the same address: the packet tells which it was.
        let Some(quote) = Quote::read(packet) else { return };
        let found = self.table.find_quoted(&tuple, quote.peer_port, quote.named());
        if let Some(assoc) = found.and_then(|h| self.table.touch(h))
            && let Some(p) = assoc.paths.by_tuple(&tuple)
        {
            assoc.packet_refused(now, p, packet, carried);
        }
    }
}

impl Quote {
    fn read(quoted: &[u8]) -> Option<Self> {
        let (ports, rest) = quoted.split_first_chunk::<4>()?;
        let [s0, s1, d0, d1] = *ports;
        let (tag, _) = rest.split_first_chunk::<4>()?;
        // Type, flags and length of the first chunk, and an INIT's first field: its tag.
        let chunk = quoted.get(COMMON_HEADER_LEN..).and_then(|rest| rest.split_first_chunk::<8>());
        let init = chunk.and_then(|(&[kind, _, _, _, t0, t1, t2, t3], _)| {
            (kind == kind::INIT).then(|| u32::from_be_bytes([t0, t1, t2, t3]))
        });
        let (local_port, peer_port) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        Some(Self { local_port, peer_port, tag: u32::from_be_bytes(*tag), init })
    }

    /// The tag that tells the association: the peer's, or in an INIT our own.
    fn named(&self) -> Tag {
        match (self.tag, self.init) {
            (0, Some(own)) => Tag::Local(own),
            (tag, _) => Tag::Peer(tag),
        }
    }

    /// ICMP6: the tag proves that the packet was ours. Without one it must be our INIT.
    fn is_of(&self, assoc: &Association) -> bool {
        let ours = |tag: u32| tag != 0 && tag == assoc.local.tag;
        match self.tag {
            0 => self.init.is_some_and(ours),
            tag => tag == assoc.peer.tag,
        }
    }
}
