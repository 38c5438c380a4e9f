//! Which pairs of addresses are announced, and become paths.

use core::net::{IpAddr, SocketAddr};

use crate::association::Association;
use crate::config::PathPairing;
use crate::ids::FourTuple;
use crate::time::Time;

impl Association {
    /// The addresses that our INIT announces: the endpoint's, or those at which the user's paths
    /// start.
    pub(crate) fn announced_addresses(&self) -> Vec<IpAddr> {
        if let Some(present) = self.present_locals() {
            return present;
        }
        if self.config.minimal_init {
            // The peer knows of the address that it got packets from, and of no other until ASCONF
            // tells.
            let first = self.paths.get(self.paths.primary).map(|path| path.tuple.local.ip());
            return first.into_iter().collect();
        }
        if !self.endpoint.addresses.is_empty() {
            return self.endpoint.addresses.clone();
        }
        let mut addresses = Vec::new();
        for (_, path) in self.paths.iter() {
            let local = path.tuple.local.ip();
            if !addresses.contains(&local) {
                addresses.push(local);
            }
        }
        addresses
    }

    /// Makes paths, unconfirmed, of pairs of our and the peer's addresses as the endpoint is
    /// configured. A side that named its paths gets none beyond them to the addresses that it
    /// named.
    pub(super) fn pair_addresses(&mut self, now: Time) {
        let Some(first) = self.paths.iter().next().map(|(_, path)| path.tuple) else { return };
        let pairs = match self.endpoint.pairing {
            PathPairing::Mesh => self.mesh(),
            PathPairing::Index => self.zip(),
            PathPairing::Learned => Vec::new(),
        };
        for (local, remote) in pairs {
            // UDP ports are those of the path that works (RFC 6951 section 5.4); 0 without
            // encapsulation.
            let local = SocketAddr::new(local, first.local.port());
            let remote = SocketAddr::new(remote, first.remote.port());
            self.add_path(now, FourTuple { local, remote }, false);
        }
    }

    /// Where the peer is, as far as is known: the ends of the paths, and its other addresses with
    /// the UDP port that it listed them from (RFC 6951 section 5.1).
    pub(crate) fn peer_sockets(&self) -> Vec<SocketAddr> {
        let ends = self.paths.live().filter_map(|p| self.path_tuple(p)).map(|tuple| tuple.remote);
        let mut sockets: Vec<SocketAddr> = ends.collect();
        let port = self.path_tuple(self.paths.preferred()).map_or(0, |tuple| tuple.remote.port());
        for address in &self.peer.addresses {
            if !sockets.iter().any(|at| at.ip() == *address) {
                sockets.push(SocketAddr::new(*address, port));
            }
        }
        sockets
    }

    /// Whether the peer may be at `remote` as far as it said: one of its addresses, and a UDP port
    /// that it has.
    pub(crate) fn is_expected(&self, remote: SocketAddr) -> bool {
        let port = |p| self.path_tuple(p).is_some_and(|t| t.remote.port() == remote.port());
        self.peer.addresses.contains(&remote.ip()) && self.paths.live().any(port)
    }

    fn mesh(&self) -> Vec<(IpAddr, IpAddr)> {
        let locals = self.announced_addresses();
        let pairs = self
            .unnamed_addresses()
            .flat_map(|(_, remote)| locals.iter().map(move |local| (*local, remote)));
        pairs.filter(one_family).collect()
    }

    fn zip(&self) -> Vec<(IpAddr, IpAddr)> {
        let locals = self.announced_addresses();
        let pairs = self.unnamed_addresses();
        pairs.filter_map(|(i, r)| Some((*locals.get(i)?, r))).filter(one_family).collect()
    }

    /// The peer's addresses that our user named no path to, with their positions.
    fn unnamed_addresses(&self) -> impl Iterator<Item = (usize, IpAddr)> {
        let named: Vec<IpAddr> = if self.setup.opened {
            self.paths.iter().map(|(_, path)| path.tuple.remote.ip()).collect()
        } else {
            Vec::new()
        };
        let addresses = self.peer.addresses.iter().copied().enumerate();
        addresses.filter(move |(_, address)| !named.contains(address))
    }
}

fn one_family((local, remote): &(IpAddr, IpAddr)) -> bool {
    local.is_ipv4() == remote.is_ipv4()
}
