//! A UDP socket that receives and sets the ECN field.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::UdpGroSegment;
use polypath_net::LocalAddress;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Type};
use tokio::io::Interest;

use super::probe::Ecn;

/// Longer packets are no concern of a mirror: what is beyond that is cut off, bytes.
const LONGEST: usize = 2048;
/// Packets that are taken at once, at most.
const AT_ONCE: usize = 4;

/// The socket.
#[derive(Debug)]
pub(crate) struct ProbeSocket {
    io: tokio::net::UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
}

/// A packet that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet<'r> {
    /// From where.
    pub(crate) from: SocketAddr,
    /// Its ECN field.
    pub(crate) ecn: Ecn,
    /// What it carries.
    pub(crate) bytes: &'r [u8],
}

/// Room for packets that come. Who receives keeps one: strangers shall cost no memory.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: Box<[[u8; LONGEST]; AT_ONCE]>,
    meta: [RecvMeta; AT_ONCE],
}

impl ProbeSocket {
    /// At a free port of `local`, whose packets take its device if it names one.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn bind(local: &LocalAddress) -> io::Result<Self> {
        let domain = if local.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if let Some(device) = &local.device {
            socket.bind_device(Some(device.as_bytes()))?;
        }
        if local.address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::from(SocketAddr::new(local.address, 0)))?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // Packets that come as one would not fit; a system without GRO has none to switch off.
        let _ = setsockopt(&socket, UdpGroSegment, &false);
        let io = tokio::net::UdpSocket::from_std(socket.into())?;
        let local = io.local_addr()?;
        Ok(Self { io, state, local })
    }

    /// Where it is.
    pub(crate) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends a packet with this ECN field.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) async fn send(&self, to: SocketAddr, ecn: Ecn, bytes: &[u8]) -> io::Result<()> {
        let ecn = EcnCodepoint::from_bits(ecn as u8);
        let transmit =
            Transmit { destination: to, ecn, contents: bytes, segment_size: None, src_ip: None };
        let attempt = || self.state.try_send(UdpSockRef::from(&self.io), &transmit);
        self.io.async_io(Interest::WRITABLE, attempt).await
    }

    /// What comes next: at least one packet.
    ///
    /// # Errors
    /// When the socket fails.
    pub(crate) async fn recv<'r>(
        &self,
        room: &'r mut Room,
    ) -> io::Result<impl Iterator<Item = Packet<'r>> + use<'r>> {
        let take = || self.take_waiting(room);
        let count = self.io.async_io(Interest::READABLE, take).await?;
        Ok(room.packets(count))
    }

    fn take_waiting(&self, room: &mut Room) -> io::Result<usize> {
        let mut slices = room.bytes.each_mut().map(|bytes| IoSliceMut::new(bytes));
        self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut room.meta)
    }
}

impl Default for Room {
    fn default() -> Self {
        Self { bytes: Box::new([[0; LONGEST]; AT_ONCE]), meta: [RecvMeta::default(); AT_ONCE] }
    }
}

impl Room {
    fn packets(&self, count: usize) -> impl Iterator<Item = Packet<'_>> {
        self.meta.iter().zip(self.bytes.iter()).take(count).map(|(meta, bytes)| Packet {
            from: SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port()),
            ecn: Ecn::from_bits(meta.ecn.map_or(0, |ecn| ecn as u8)),
            bytes: bytes.get(..meta.len).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn bind(address: &str) -> io::Result<ProbeSocket> {
        ProbeSocket::bind(&LocalAddress::from(address.parse::<IpAddr>().unwrap()))
    }

    #[tokio::test]
    async fn the_ecn_field_is_set_and_heard() {
        let mut room = Room::default();
        for address in ["127.0.0.1", "::1"] {
            // A host without IPv6 has nothing to tell.
            let (Ok(a), Ok(b)) = (bind(address), bind(address)) else { continue };
            for ecn in [Ecn::None, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                a.send(b.local(), ecn, b"hello").await.unwrap();
                let came: Vec<_> = b.recv(&mut room).await.unwrap().collect();
                assert_eq!(came, [Packet { from: a.local(), ecn, bytes: b"hello" }]);
            }
        }
    }

    /// Packets that a sender hands to the system as one are as many, and what is too long is cut.
    #[tokio::test]
    async fn packets_come_one_by_one_and_none_is_longer_than_its_room() {
        let (a, b) = (bind("127.0.0.1").unwrap(), bind("127.0.0.1").unwrap());
        let contents = &[7; 64 * 3];
        let (to, segment_size) = (b.local(), Some(64));
        let transmit =
            Transmit { destination: to, ecn: None, contents, segment_size, src_ip: None };
        // Where the system has no GSO, there is nothing to tell.
        let sent = a.state.try_send(UdpSockRef::from(&a.io), &transmit);
        let mut room = Room::default();
        let mut lengths = Vec::new();
        while sent.is_ok() && lengths.len() < 3 {
            lengths.extend(b.recv(&mut room).await.unwrap().map(|packet| packet.bytes.len()));
        }
        assert!(sent.is_err() || lengths == [64; 3], "{lengths:?}");
        a.send(to, Ecn::None, &[7; 9000]).await.unwrap();
        let came: Vec<_> = b.recv(&mut room).await.unwrap().collect();
        assert_eq!((came.len(), came[0].bytes.len()), (1, LONGEST));
    }
}
