//! Our addresses and where each of them stands.

use core::net::{IpAddr, SocketAddr};

/// Where an address of ours stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The peer knows it.
    Valid,
    /// The peer was, or will be, asked to add it: until it answers, only ASCONF may come from there (section 5.3, F1).
    Adding,
    /// The peer was, or will be, asked to delete it: nothing may come from there, what arrives there counts (F4).
    Deleting,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalAddress {
    pub(crate) ip: IpAddr,
    /// UDP port; 0 without encapsulation.
    pub(crate) port: u16,
    pub(crate) standing: Standing,
}

/// A change of our addresses that must wait until the association is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressChangeRequest {
    Add(SocketAddr),
    Remove(IpAddr),
}
