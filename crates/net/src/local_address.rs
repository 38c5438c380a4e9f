//! Addresses of this host.

use std::net::IpAddr;

/// An address of this host: `IpAddr::into`, or [`on_device`](Self::on_device).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalAddress {
    /// Which.
    pub address: IpAddr,
    /// The network device that its packets must take, whatever the routing table says
    /// (SO_BINDTODEVICE).
    pub device: Option<String>,
}

impl From<IpAddr> for LocalAddress {
    fn from(address: IpAddr) -> Self {
        Self { address, device: None }
    }
}

impl LocalAddress {
    /// `address`, whose packets must take the network device of this name.
    pub fn on_device(address: IpAddr, device: impl Into<String>) -> Self {
        Self { address, device: Some(device.into()) }
    }

    /// Both, if there is a device.
    pub(crate) fn with_device(&self) -> Option<(IpAddr, String)> {
        Some((self.address, self.device.clone()?))
    }
}
