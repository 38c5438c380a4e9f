//! The error queue of a socket: what ICMP says of packets that it sent, with what it quotes of
//! them.

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use nix::libc::sock_extended_err;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use polypath_proto::endpoint::IcmpReport;

/// As much of a quoted packet as the core looks at: common header and the beginning of an INIT.
const QUOTED: usize = 64;

/// What the network said of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// Where the packet was going.
    pub(crate) remote: SocketAddr,
    /// The system's error number.
    pub(crate) errno: i32,
    /// What the message means for SCTP; `None` where it came from this host, or means nothing.
    pub(crate) report: Option<IcmpReport>,
    /// The packet was not even sent: the interface carries IP packets of so many bytes only.
    pub(crate) interface_mtu: Option<u32>,
    quoted: [u8; QUOTED],
    len: usize,
}

impl Trouble {
    /// What is quoted of the SCTP packet.
    pub(crate) fn quoted_packet(&self) -> &[u8] {
        self.quoted.get(..self.len).unwrap_or(&self.quoted)
    }
}

/// Who put an entry into the queue (linux/errqueue.h).
const ORIGIN_LOCAL: u8 = 1;
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;

/// The oldest entry of the socket's error queue; `Some(None)`: one that says nothing of use.
/// `None`: the queue is empty.
pub(super) fn next_error(socket: &impl AsRawFd) -> Option<Option<Trouble>> {
    let mut quoted = [0; QUOTED];
    let mut slices = [IoSliceMut::new(&mut quoted)];
    // Beside the error come time stamp, destination, and whatever else was asked for on reception.
    let mut control = nix::cmsg_space!([u8; 512]);
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let fd = socket.as_raw_fd();
    let error = recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut control), flags).ok()?;
    // Its address is where our packet was going, not who complains.
    let remote = error.address.as_ref().and_then(socket_address);
    let about = error.cmsgs().ok().and_then(|mut all| all.find_map(extended_error));
    let len = error.bytes.min(QUOTED);
    Some(remote.zip(about).and_then(|(remote, about)| {
        let trouble = Trouble::from_error(remote, &about)?;
        Some(Trouble { quoted, len, ..trouble })
    }))
}

fn extended_error(message: ControlMessageOwned) -> Option<sock_extended_err> {
    match message {
        ControlMessageOwned::Ipv4RecvErr(about, _) | ControlMessageOwned::Ipv6RecvErr(about, _) => {
            Some(about)
        }
        _ => None,
    }
}

impl Trouble {
    fn from_error(remote: SocketAddr, about: &sock_extended_err) -> Option<Self> {
        let errno = i32::try_from(about.ee_errno).ok()?;
        let report = match about.ee_origin {
            ORIGIN_ICMP => report_v4(about.ee_type, about.ee_code, about.ee_info),
            ORIGIN_ICMP6 => report_v6(about.ee_type, about.ee_code, about.ee_info),
            _ => None,
        };
        let too_long = about.ee_origin == ORIGIN_LOCAL && errno == nix::Error::EMSGSIZE as i32;
        let interface_mtu = too_long.then_some(about.ee_info);
        Some(Self { remote, errno, report, interface_mtu, quoted: [0; QUOTED], len: 0 })
    }
}

/// ICMP: only "destination unreachable" counts (RFC 9260 section 10, ICMP1).
const fn report_v4(kind: u8, code: u8, info: u32) -> Option<IcmpReport> {
    match (kind, code) {
        (3, 2) => Some(IcmpReport::ProtocolUnreachable),
        (3, 3) => Some(IcmpReport::PortUnreachable),
        (3, 4) => Some(IcmpReport::PacketTooBig { mtu: info }),
        (3, _) => Some(IcmpReport::Unreachable),
        _ => None,
    }
}

/// ICMPv6: "destination unreachable", "packet too big", and an unrecognized next header (ICMP2,
/// ICMP4).
const fn report_v6(kind: u8, code: u8, info: u32) -> Option<IcmpReport> {
    match (kind, code) {
        (1, 4) => Some(IcmpReport::PortUnreachable),
        (1, _) => Some(IcmpReport::Unreachable),
        (2, _) => Some(IcmpReport::PacketTooBig { mtu: info }),
        (4, 1) => Some(IcmpReport::ProtocolUnreachable),
        _ => None,
    }
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|a| SocketAddr::V4((*a).into()));
    v4.or_else(|| address.as_sockaddr_in6().map(|a| SocketAddr::V6((*a).into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_codes_by_rfc_792_and_rfc_4443() {
        assert_eq!(report_v4(3, 4, 1400), Some(IcmpReport::PacketTooBig { mtu: 1400 }));
        assert_eq!(report_v4(3, 13, 0), Some(IcmpReport::Unreachable));
        assert_eq!(report_v4(11, 0, 0), None, "time exceeded");
        assert_eq!(report_v6(2, 0, 1280), Some(IcmpReport::PacketTooBig { mtu: 1280 }));
        assert_eq!(report_v6(4, 1, 0), Some(IcmpReport::ProtocolUnreachable));
        assert_eq!(report_v6(4, 0, 0), None, "erroneous header field");
    }
}
