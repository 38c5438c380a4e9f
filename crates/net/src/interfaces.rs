//! Addresses of this host that come and go while an endpoint lives.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use polypath_proto::config::MAX_PATHS;
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use crate::local_address::LocalAddress;
use crate::socket::is_link_local;

/// Which addresses an endpoint takes up when they appear, and gives up when they vanish. Loopback
/// and link-local addresses are never among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Follow {
    /// Only those of these network devices; empty: of all.
    pub devices: Vec<String>,
    /// IPv4 addresses.
    pub ipv4: bool,
    /// IPv6 addresses.
    pub ipv6: bool,
}

impl Follow {
    /// The addresses of all devices, in the families of `remote`.
    pub fn families_of<'a>(remote: impl IntoIterator<Item = &'a IpAddr>) -> Self {
        let mut follow = Self::default();
        for address in remote {
            follow.ipv4 |= address.is_ipv4();
            follow.ipv6 |= address.is_ipv6();
        }
        follow
    }

    /// Only the addresses of these network devices.
    pub fn on_devices(mut self, devices: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.devices = devices.into_iter().map(Into::into).collect();
        self
    }

    /// The addresses that this host has now, each bound to its device.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn present(&self) -> io::Result<Vec<LocalAddress>> {
        let mut found: Vec<LocalAddress> =
            list_own()?.filter(|own| self.admits_address(own)).collect();
        found.truncate(MAX_PATHS);
        Ok(found)
    }

    fn admits_address(&self, own: &LocalAddress) -> bool {
        let family = if own.address.is_ipv4() { self.ipv4 } else { self.ipv6 };
        let device = own.device.as_ref();
        let named = self.devices.is_empty() || device.is_some_and(|d| self.devices.contains(d));
        let local = match own.address {
            IpAddr::V4(v4) => v4.is_link_local(),
            IpAddr::V6(_) => is_link_local(own.address),
        };
        family && named && !local && !own.address.is_loopback()
    }
}

/// The addresses of all devices that are up.
fn list_own() -> io::Result<impl Iterator<Item = LocalAddress>> {
    use nix::net::if_::InterfaceFlags;
    let all = nix::ifaddrs::getifaddrs()?;
    Ok(all.filter_map(|entry| {
        let storage = entry.address?;
        let v4 = storage.as_sockaddr_in().map(|a| IpAddr::from(a.ip()));
        let address = v4.or_else(|| storage.as_sockaddr_in6().map(|a| a.ip().into()))?;
        let up = entry.flags.contains(InterfaceFlags::IFF_UP);
        up.then_some(LocalAddress { address, device: Some(entry.interface_name) })
    }))
}

/// What happened to an address that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Came(LocalAddress),
    Went(IpAddr),
}

/// Hears of changes. Lives in the reactor's runtime.
///
/// The kernel only says that something has changed; what, is found by comparing the addresses that
/// there are with those of before. So nothing is missed when there were more messages than the
/// socket holds, and an address of a device that comes up later than its address is found, too.
#[derive(Debug)]
pub(crate) struct Watcher {
    follow: Follow,
    told: UdpSocket,
    /// All addresses of this host, as they were last.
    known: Vec<LocalAddress>,
    changes: VecDeque<Change>,
}

impl Watcher {
    /// Must be called within a runtime.
    pub(crate) fn new(follow: Follow) -> io::Result<Self> {
        // Not a socket of UDP, but one that the runtime can wait for as for such.
        let told = UdpSocket::from_std(changes_of_addresses()?.into())?;
        let mut new = Self { follow, told, known: Vec::new(), changes: VecDeque::new() };
        new.compare()?;
        Ok(new)
    }

    /// The next change; what was there from the beginning comes first.
    pub(crate) fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Change> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Poll::Ready(change);
            }
            if !self.is_told(cx) {
                return Poll::Pending;
            }
            // Where that fails descriptors are short, it may be: the next change tells of this one
            // as well.
            let _ = self.compare();
        }
    }

    /// Whether anything has changed. What is said of it is not looked at.
    fn is_told(&self, cx: &mut Context<'_>) -> bool {
        let mut told = false;
        loop {
            // What does not fit is dropped by the kernel.
            let mut message = [0; 16];
            match self.told.poll_recv(cx, &mut ReadBuf::new(&mut message)) {
                Poll::Pending => return told,
                Poll::Ready(Ok(())) => told = true,
                // There were more than the socket holds.
                Poll::Ready(Err(e)) if Errno::from_io_error(&e) == Some(Errno::NOBUFS) => {
                    told = true;
                }
                // What it could not hear it will not hear by asking again at once.
                Poll::Ready(Err(_)) => return told,
            }
        }
    }

    fn compare(&mut self) -> io::Result<()> {
        let now: Vec<LocalAddress> = list_own()?.collect();
        let went = self.known.iter().filter(|own| !now.contains(own));
        self.changes.extend(went.map(|own| Change::Went(own.address)));
        let came = now.iter().filter(|own| !self.known.contains(own));
        let followed = came.filter(|own| self.follow.admits_address(own));
        self.changes.extend(followed.cloned().map(Change::Came));
        self.known = now;
        Ok(())
    }
}

/// A socket that has something to read whenever addresses or devices of this host change
/// (rtnetlink(7)).
fn changes_of_addresses() -> io::Result<OwnedFd> {
    // RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR.
    const GROUPS: u32 = 0x1 | 0x10 | 0x100;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    // Protocol 0 is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(address: &str, device: &str) -> LocalAddress {
        LocalAddress { address: address.parse().unwrap(), device: Some(device.to_owned()) }
    }

    #[test]
    fn families_and_devices_decide_and_no_address_of_this_host_alone() {
        let remote = ["192.0.2.1".parse().unwrap()];
        let any = Follow::families_of(&remote);
        assert!(any.admits_address(&own("198.51.100.1", "eth0")));
        assert!(!any.admits_address(&own("2001:db8::1", "eth0")));
        assert!(!any.admits_address(&own("127.0.0.1", "lo")));
        assert!(!any.admits_address(&own("169.254.3.4", "eth0")));
        let both = ["192.0.2.1".parse().unwrap(), "2001:db8::9".parse().unwrap()];
        let wwan = Follow { devices: vec!["wwan0".to_owned()], ..Follow::families_of(&both) };
        assert!(wwan.admits_address(&own("2001:db8::1", "wwan0")));
        assert!(!wwan.admits_address(&own("fe80::1", "wwan0")));
        assert!(!wwan.admits_address(&own("198.51.100.1", "eth0")));
    }
}
