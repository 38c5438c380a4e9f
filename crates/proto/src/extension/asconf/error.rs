//! Why an address cannot change.

use core::net::IpAddr;

use crate::config::MAX_PATHS;

/// Our addresses per association, at most.
pub(crate) const MAX_LOCAL: usize = MAX_PATHS;

/// Why a change of addresses was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Dynamic addresses are switched off, or the peer cannot do them.
    #[error("the addresses of this association cannot change: both sides must support it")]
    Unsupported,
    /// No packet can come from such an address.
    #[error("{address} is not the address of one host")]
    NotUnicast {
        /// The address.
        address: IpAddr,
    },
    /// It is not one of ours.
    #[error("{address} is not an address of this association")]
    Unknown {
        /// The address.
        address: IpAddr,
    },
    /// There are as many as there may be.
    #[error("the association has {MAX_LOCAL} addresses already: no more are allowed")]
    TooMany,
    /// The association shuts down, or is over.
    #[error("the association is closing")]
    Closing,
}
