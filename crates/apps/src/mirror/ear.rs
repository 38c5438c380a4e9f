//! A UDP socket that hears and sets the ECN field.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use polypath_net::LocalAddress;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Type};
use tokio::io::Interest;

use super::probe::Ecn;

/// Longer packets are no concern of a mirror; several short ones may come as one.
const LONGEST: usize = 4096;

/// The socket.
#[derive(Debug)]
pub(crate) struct Ear {
    io: tokio::net::UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
}

/// A packet that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// From where.
    pub(crate) from: SocketAddr,
    /// Its ECN field.
    pub(crate) ecn: Ecn,
    /// What it carries.
    pub(crate) bytes: Vec<u8>,
}

impl Ear {
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
    pub(crate) async fn hear(&self) -> io::Result<Vec<Heard>> {
        self.io.async_io(Interest::READABLE, || self.take_waiting()).await
    }

    fn take_waiting(&self) -> io::Result<Vec<Heard>> {
        let mut buffers = vec![[0; LONGEST]; BATCH_SIZE];
        let mut slices: Vec<_> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        let count = self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut meta)?;
        let mut heard = Vec::new();
        for (meta, buffer) in meta.iter().zip(&buffers).take(count) {
            let bytes = buffer.get(..meta.len).unwrap_or_default();
            let ecn = Ecn::from_bits(meta.ecn.map_or(0, |ecn| ecn as u8));
            let from = SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port());
            // Packets of one source that came together.
            for one in bytes.chunks(meta.stride.max(1)) {
                heard.push(Heard { from, ecn, bytes: one.to_vec() });
            }
        }
        Ok(heard)
    }

    /// Packets that the system sends, and takes, at once.
    pub(crate) fn offloads(&self) -> (usize, usize) {
        (self.state.max_gso_segments(), self.state.gro_segments())
    }

    /// The largest IP packet that the way to `to` takes as far as this host knows: what the device
    /// takes, if no router has said less. `None`: it does not tell.
    pub(crate) fn route_mtu(local: &LocalAddress, to: SocketAddr) -> Option<u32> {
        let socket = connect(local, to).ok()?;
        let told = match local.address {
            IpAddr::V4(_) => {
                nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::IpMtu)
            }
            IpAddr::V6(_) => return None,
        };
        u32::try_from(told.ok()?).ok()
    }
}

/// Asks the system for a way from `local` to `to`, and from where packets would go; none is sent.
///
/// # Errors
/// When there is none.
pub(crate) fn connect(local: &LocalAddress, to: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let domain = if local.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    if let Some(device) = &local.device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    socket.bind(&SockAddr::from(SocketAddr::new(local.address, 0)))?;
    socket.connect(&SockAddr::from(to))?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_ecn_field_is_set_and_heard() {
        for address in ["127.0.0.1", "::1"] {
            let local = LocalAddress::from(address.parse::<IpAddr>().unwrap());
            // A host without IPv6 has nothing to tell.
            let (Ok(a), Ok(b)) = (Ear::bind(&local), Ear::bind(&local)) else { continue };
            for ecn in [Ecn::None, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                a.send(b.local(), ecn, b"hello").await.unwrap();
                let bytes = b"hello".to_vec();
                assert_eq!(b.hear().await.unwrap(), [Heard { from: a.local(), ecn, bytes }]);
            }
        }
    }

    #[test]
    fn the_way_to_this_host_itself_is_wide() {
        let local = LocalAddress::from(IpAddr::from([127, 0, 0, 1]));
        let mtu = Ear::route_mtu(&local, "127.0.0.1:9".parse().unwrap());
        assert!(mtu.is_some_and(|mtu| mtu >= 1500), "{mtu:?}");
    }
}
