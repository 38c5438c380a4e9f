//! Addresses and paths that come and go while an association lives, and where the peer is asked to
//! send (RFC 5061).

use std::net::IpAddr;

use polypath_proto::event::{AddressChange, Event};
use polypath_proto::view::PathState;
use polypath_proto::{AddressError as AddressRefusal, PathId};

use crate::Association;
use crate::association::Events;
use crate::config::LocalAddress;
use crate::error::{AddressError, BindError, PathError};

impl Association {
    /// Whether addresses may come and go: both sides agreed on that. An endpoint's addresses change
    /// with [`Endpoint::add_address`](crate::Endpoint::add_address) and
    /// [`Endpoint::remove_address`](crate::Endpoint::remove_address).
    pub fn has_dynamic_addresses(&self) -> bool {
        self.agreed().dynamic_addresses
    }

    /// The peer's addresses, whether proven or not.
    pub fn peer_addresses(&self) -> Vec<IpAddr> {
        let state = self.shared().lock();
        let association = state.core.association(self.handle());
        association.map_or(Vec::new(), |association| association.peer_addresses().to_vec())
    }

    /// Asks the peer to send to this address of ours by preference; [`Event::LocalAddress`] tells
    /// what it answers. It need not heed it.
    ///
    /// # Errors
    /// When the peer cannot do that, it is none of our addresses, or the association is over.
    pub fn set_peer_primary(&self, address: IpAddr) -> Result<(), AddressError> {
        let now = self.shared().clock.now();
        let asked = self.with_core(|core| core.set_peer_primary(now, address));
        Ok(asked.ok_or_else(|| self.why_closed())??)
    }

    /// Adds paths from one more address of this host to the addresses of the peer, and waits until
    /// one of them may carry data: that one is returned. The address becomes one of the
    /// [endpoint](crate::Endpoint::add_address), for all of its associations. While the peer does
    /// not answer, this waits: put a bound of time around it. A dropped future leaves the address
    /// where it is.
    ///
    /// # Errors
    /// When addresses [may not change](Self::has_dynamic_addresses), no socket can be opened at
    /// this one, the peer refuses it or has no address of its family, or the association is over.
    pub async fn add_path(&self, local: impl Into<LocalAddress>) -> Result<PathId, PathError> {
        let local = local.into();
        let address = local.address;
        self.check_may_add(address)?;
        let mut events = self.events();
        let at = match self.shared().add_address(&local) {
            // The endpoint had it already; this association need not.
            Err(BindError::Twice(_)) => self.shared().local_address(address),
            opened => Some(opened?),
        };
        let now = self.shared().clock.now();
        let offered = at.and_then(|at| self.with_core(|core| core.add_local_address(now, at)));
        offered.ok_or_else(|| self.why_closed())??;
        loop {
            if let Some(path) = self.active_path_from(address) {
                return Ok(path);
            }
            self.wait_for_address(&mut events, address).await?;
        }
    }

    /// Gives up a path, and with it the address of this host that it starts at, which other paths
    /// may share: what was in flight from there is sent again on other paths, and the peer is told.
    /// The address is given up by the [endpoint](crate::Endpoint::remove_address), for all of its
    /// associations. To keep data off one path alone, see [`set_path_admin`](Self::set_path_admin).
    ///
    /// # Errors
    /// When addresses [may not change](Self::has_dynamic_addresses), there is no such path, it
    /// starts at the only address, or the association is over.
    pub fn remove_path(&self, path: PathId) -> Result<(), PathError> {
        self.check_may_change()?;
        let paths = self.paths();
        let known = paths.iter().find(|info| info.stats.path == path);
        let known = known.filter(|info| info.stats.state != PathState::Removed);
        let address = known.ok_or(PathError::NoSuchPath(path))?.stats.local.ip();
        let removed = self.shared().remove_address(address);
        if removed { Ok(()) } else { Err(PathError::LastAddress(path)) }
    }

    fn check_may_change(&self) -> Result<(), PathError> {
        if self.is_closed() {
            return Err(self.why_closed().into());
        }
        let may = self.has_dynamic_addresses();
        if may { Ok(()) } else { Err(AddressRefusal::Unsupported.into()) }
    }

    fn check_may_add(&self, address: IpAddr) -> Result<(), PathError> {
        self.check_may_change()?;
        let family = |peer: &IpAddr| peer.is_ipv4() == address.is_ipv4();
        let reaches = self.peer_addresses().iter().any(family);
        if reaches { Ok(()) } else { Err(PathError::NoPeerAddress { address }) }
    }

    fn active_path_from(&self, address: IpAddr) -> Option<PathId> {
        let paths = self.paths();
        let active = |state| state == PathState::Active;
        let mut from_there = paths.iter().filter(|info| info.stats.local.ip() == address);
        from_there.find(|info| active(info.stats.state)).map(|info| info.stats.path)
    }

    /// Waits until something happens that may concern `address`.
    async fn wait_for_address(
        &self,
        events: &mut Events,
        address: IpAddr,
    ) -> Result<(), PathError> {
        match events.next().await {
            Some(Event::LocalAddress {
                address: refused,
                change: AddressChange::AddRefused { cause },
            }) if refused == address => Err(PathError::Denied { address, cause }),
            Some(_) => Ok(()),
            None => Err(self.why_closed().into()),
        }
    }
}
