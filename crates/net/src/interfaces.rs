//! Addresses of this host that come and go while an endpoint lives.

use std::io;
use std::net::IpAddr;
use std::task::{Context, Poll};

use if_watch::IfEvent;
use if_watch::tokio::IfWatcher;
use polypath_proto::config::MAX_PATHS;

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
#[derive(Debug)]
pub(crate) struct Watcher {
    follow: Follow,
    events: IfWatcher,
}

impl Watcher {
    /// Must be called within a runtime.
    pub(crate) fn new(follow: Follow) -> io::Result<Self> {
        Ok(Self { follow, events: IfWatcher::new()? })
    }

    /// The next change; what was there from the beginning comes first.
    pub(crate) fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Change> {
        loop {
            match self.events.poll_if_event(cx) {
                Poll::Ready(Ok(IfEvent::Up(net))) => {
                    if let Some(own) = self.find_address(net.addr()) {
                        return Poll::Ready(Change::Came(own));
                    }
                }
                Poll::Ready(Ok(IfEvent::Down(net))) => {
                    return Poll::Ready(Change::Went(net.addr()));
                }
                // What it could not hear it will not hear by asking again at once.
                Poll::Ready(Err(_)) | Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn find_address(&self, address: IpAddr) -> Option<LocalAddress> {
        let mut own = list_own().ok()?;
        own.find(|own| own.address == address && self.follow.admits_address(own))
    }
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
