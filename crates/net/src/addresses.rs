//! What an association knows of either side's addresses, and where the peer is asked to send (RFC 5061).

use std::net::IpAddr;

use crate::Association;
use crate::error::AddressError;

impl Association {
    /// Whether addresses may come and go: both sides agreed on that. An endpoint's addresses change with
    /// [`Endpoint::add_address`](crate::Endpoint::add_address) and
    /// [`Endpoint::remove_address`](crate::Endpoint::remove_address).
    pub fn has_dynamic_addresses(&self) -> bool {
        let state = self.shared().lock();
        let association = state.core.association(self.handle());
        association.is_some_and(polypath_proto::Association::has_dynamic_addresses)
    }

    /// The peer's addresses, whether proven or not.
    pub fn peer_addresses(&self) -> Vec<IpAddr> {
        let state = self.shared().lock();
        let association = state.core.association(self.handle());
        association.map_or(Vec::new(), |association| association.peer_addresses().to_vec())
    }

    /// Asks the peer to send to this address of ours by preference; [`Event::LocalAddress`](crate::Event::LocalAddress) tells what it
    /// answers. It need not heed it.
    ///
    /// # Errors
    /// When the peer cannot do that, it is none of our addresses, or the association is over.
    pub fn set_peer_primary(&self, address: IpAddr) -> Result<(), AddressError> {
        let now = self.shared().clock.now();
        let asked = self.with(|core| core.set_peer_primary(now, address));
        Ok(asked.ok_or_else(|| self.why_closed())??)
    }
}
