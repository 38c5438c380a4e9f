//! Our addresses, as they come and go (RFC 5061): associations that exist tell their peers, if both sides can, and new ones announce
//! what there is then.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::Endpoint;
use super::address_changes::AddressChange;
use crate::config::EndpointConfig;
use crate::handshake::longest_cookie_life;
use crate::ids::AssocHandle;
use crate::time::Time;

impl Endpoint {
    /// We have one more address, with its UDP port if packets are encapsulated (else 0). New associations announce it; those that
    /// exist tell their peers if both sides agreed on dynamic addresses, and leave it alone otherwise.
    pub fn add_address(&mut self, now: Time, at: SocketAddr) {
        // Without a list, all addresses are ours, and associations announce those that their paths start at.
        let listed = !self.config.addresses.is_empty();
        if listed && !self.config.addresses.contains(&at.ip()) {
            let change = AddressChange { when: now, at, added: true };
            self.changes.note(change, longest_cookie_life(&self.config));
            Arc::make_mut(&mut self.config).addresses.push(at.ip());
        }
        for h in self.table.handles().collect::<Vec<_>>() {
            if let Some(assoc) = self.table.touch(h) {
                let _cannot = assoc.add_local_address(now, at);
            }
        }
    }

    /// An address is not ours any more: new associations do not announce it, those that exist tell their peers, and where they
    /// cannot, paths from there are taken for failed.
    pub fn remove_address(&mut self, now: Time, address: IpAddr) {
        if self.config.addresses.contains(&address) {
            let at = SocketAddr::new(address, 0);
            let change = AddressChange { when: now, at, added: false };
            self.changes.note(change, longest_cookie_life(&self.config));
            Arc::make_mut(&mut self.config).addresses.retain(|own| *own != address);
        }
        for h in self.table.handles().collect::<Vec<_>>() {
            let Some(assoc) = self.table.touch(h) else { continue };
            let _cannot = assoc.remove_local_address(now, address);
            for p in assoc.paths.ids() {
                let tuple = assoc.path_tuple(p).filter(|tuple| tuple.local.ip() == address);
                if let Some(tuple) = tuple {
                    assoc.path_failed(now, tuple);
                }
            }
        }
    }

    /// Whether an association has a path from `address`, or still expects packets there.
    pub fn uses_address(&self, address: IpAddr) -> bool {
        let here = |h| self.table.get(h).is_some_and(|assoc| assoc.uses_local(address));
        self.table.handles().any(here)
    }

    /// The configuration as it was when a cookie was made: that is what its peer was told.
    pub(super) fn config_at(&self, created: Time) -> Arc<EndpointConfig> {
        self.changes.undo(&self.config, created)
    }

    /// What became of our addresses since then, the peer will be told.
    pub(super) fn catch_up(&mut self, h: AssocHandle, created: Time) {
        let Some(assoc) = self.table.touch(h) else { return };
        for change in self.changes.after(created) {
            assoc.defer_address_change(change.at, change.added);
        }
    }
}
