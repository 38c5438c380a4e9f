//! What this host knows of the way to another one, without a packet.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::sys::socket::{getsockopt, sockopt};
use polypath_net::LocalAddress;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Between where, and what the device here sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    pub(super) local: &'a LocalAddress,
    pub(super) remote: SocketAddr,
    pub(super) device: Option<u32>,
}

/// Asks the system for a way from `local` to `to`.
///
/// # Errors
/// When there is none.
pub(super) fn connect(local: &LocalAddress, to: SocketAddr) -> io::Result<UdpSocket> {
    let domain = if local.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    if let Some(device) = &local.device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    socket.bind(&SockAddr::from(SocketAddr::new(local.address, 0)))?;
    socket.connect(&SockAddr::from(to))?;
    Ok(socket.into())
}

/// The largest IP packet that the way to `to` takes as far as this host knows: what the device
/// takes, if no router has said less. `None`: it does not tell.
pub(super) fn route_mtu(local: &LocalAddress, to: SocketAddr) -> Option<u32> {
    let socket = connect(local, to).ok()?;
    let told = match local.address {
        IpAddr::V4(_) => getsockopt(&socket, sockopt::IpMtu),
        IpAddr::V6(_) => return None,
    };
    u32::try_from(told.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_this_host_itself_is_wide() {
        let local = LocalAddress::from(IpAddr::from([127, 0, 0, 1]));
        let mtu = route_mtu(&local, "127.0.0.1:9".parse().unwrap());
        assert!(mtu.is_some_and(|mtu| mtu >= 1500), "{mtu:?}");
    }
}
