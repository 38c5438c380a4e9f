//! Our addresses, as they come and go. What the peers of the associations that exist are told of it is RFC 5061's part.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::Endpoint;
use crate::time::Time;

impl Endpoint {
    /// We have one more address, with its UDP port if packets are encapsulated: new associations announce it.
    pub fn add_address(&mut self, _now: Time, at: SocketAddr) {
        if !self.config.addresses.contains(&at.ip()) {
            Arc::make_mut(&mut self.config).addresses.push(at.ip());
        }
    }

    /// An address is not ours any more: new associations do not announce it, and paths from there are taken for failed.
    pub fn remove_address(&mut self, now: Time, address: IpAddr) {
        Arc::make_mut(&mut self.config).addresses.retain(|own| *own != address);
        let all: Vec<_> = self.table.handles().collect();
        for h in all {
            let Some(assoc) = self.table.touch(h) else { continue };
            for p in assoc.paths.ids() {
                let tuple = assoc.path_tuple(p).filter(|tuple| tuple.local.ip() == address);
                if let Some(tuple) = tuple {
                    assoc.path_failed(now, tuple);
                }
            }
        }
    }

    /// Whether an association has a path from `address`.
    pub fn uses_address(&self, address: IpAddr) -> bool {
        let uses = |h| {
            let mut paths = self.table.get(h)?.paths.iter();
            paths.any(|(_, path)| path.tuple.local.ip() == address).then_some(())
        };
        self.table.handles().any(|h| uses(h).is_some())
    }
}
