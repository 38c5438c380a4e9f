//! How a box behaves, in the words of RFC 4787.

use std::net::{IpAddr, SocketAddr};

use super::table::Part;
use crate::Nanos;

/// The settings of a [`crate::Nat`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatConfig {
    /// When two packets from one endpoint inside have one external endpoint (section 4.1).
    pub mapping: NatDependence,
    /// Whose packets get in to a mapping (section 5).
    pub filtering: NatDependence,
    /// The addresses outside, of either family: at least one.
    pub external: Vec<IpAddr>,
    /// How hosts share several external addresses (section 4.1).
    pub pooling: NatPooling,
    /// Whether a mapping has the port of the endpoint inside where that is free (section 4.2.1).
    pub preserve_ports: bool,
    /// Whether hosts inside reach each other at their external endpoints (section 6).
    pub hairpin: bool,
    /// How long a mapping, and what its filter lets in, outlives its last packet from inside, in ns
    /// (section 4.3).
    pub timeout: Nanos,
    /// Pairs of a mapping and what its filter lets in, at most. When the table is full, new ones
    /// are refused; others stay.
    pub capacity: usize,
    /// Whether who is not let in hears of it (ICMP port unreachable).
    pub answers: bool,
    /// What happens to the box, in the order of time.
    pub schedule: Vec<(Nanos, NatChange)>,
}

/// What happens to a box in mid-transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatChange {
    /// [`crate::Nat::rebind_ports`].
    Rebind,
    /// [`crate::Nat::change_address`].
    Readdress(IpAddr),
    /// [`crate::Nat::forget_mappings`].
    Forget,
}

/// What of the endpoint outside a decision looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NatDependence {
    /// Nothing of it.
    #[default]
    EndpointIndependent,
    /// Its address.
    AddressDependent,
    /// Its address and its port.
    AddressAndPortDependent,
}

/// How hosts inside share external addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NatPooling {
    /// All mappings of a host have one external address.
    #[default]
    Paired,
    /// Each mapping has any.
    Arbitrary,
}

/// A setting that no box can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NatConfigError {
    /// Nothing to translate to.
    #[error("external: none (allowed: at least one address)")]
    NoExternal,
    /// Not an address of one host, or there twice.
    #[error("external: {0} (allowed: unicast addresses, each once)")]
    External(IpAddr),
    /// Mappings would be gone at once.
    #[error("timeout: 0 ns (allowed: at least 1 ns)")]
    Timeout,
    /// Nothing would ever pass.
    #[error("capacity: 0 (allowed: at least 1)")]
    Capacity,
}

impl NatConfig {
    /// RFC 4787's time for which a mapping should last (REQ-5): 5 minutes, in ns.
    pub const TIMEOUT: Nanos = 300_000_000_000;
    /// Entries of the table unless told otherwise.
    pub const CAPACITY: usize = 16_384;

    /// A box with one address outside, as most homes have one: endpoint-independent mapping that
    /// preserves ports, address-and-port-dependent filtering, silent.
    #[must_use]
    pub fn new(external: IpAddr) -> Self {
        Self {
            mapping: NatDependence::EndpointIndependent,
            filtering: NatDependence::AddressAndPortDependent,
            external: vec![external],
            pooling: NatPooling::Paired,
            preserve_ports: true,
            hairpin: true,
            timeout: Self::TIMEOUT,
            capacity: Self::CAPACITY,
            answers: false,
            schedule: Vec::new(),
        }
    }

    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), NatConfigError> {
        if self.external.is_empty() {
            return Err(NatConfigError::NoExternal);
        }
        for (n, address) in self.external.iter().enumerate() {
            let nobody = address.is_unspecified() || address.is_multicast();
            if nobody || self.external.iter().take(n).any(|earlier| earlier == address) {
                return Err(NatConfigError::External(*address));
            }
        }
        if self.timeout == 0 {
            return Err(NatConfigError::Timeout);
        }
        if self.capacity == 0 { Err(NatConfigError::Capacity) } else { Ok(()) }
    }
}

impl NatDependence {
    /// All kinds.
    pub const ALL: [Self; 3] =
        [Self::EndpointIndependent, Self::AddressDependent, Self::AddressAndPortDependent];

    /// What it looks at in `outside`.
    pub(super) const fn part_of(self, outside: SocketAddr) -> Part {
        match self {
            Self::EndpointIndependent => Part::Nothing,
            Self::AddressDependent => Part::Address(outside.ip()),
            Self::AddressAndPortDependent => Part::Endpoint(outside),
        }
    }
}
