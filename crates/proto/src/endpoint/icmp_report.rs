//! What ICMP may say of a path.

/// What an ICMP or ICMPv6 message reports. Drivers drop messages of other kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpReport {
    /// The packet is larger than the next link carries: "fragmentation needed", "packet too big".
    PacketTooBig {
        /// What the link carries, bytes with IP header; 0 if the router did not say (RFC 1191 section 4).
        mtu: u32,
    },
    /// "Protocol unreachable", or "unrecognized next header type": the host does not know SCTP.
    ProtocolUnreachable,
    /// "Port unreachable". Without encapsulation it means nothing: SCTP has ABORT for that.
    PortUnreachable,
    /// No way there: any other "destination unreachable".
    Unreachable,
}
