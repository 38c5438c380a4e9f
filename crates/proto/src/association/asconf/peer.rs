//! The peer's addresses: those that it adds, takes back, or prefers.

use core::net::{IpAddr, SocketAddr};

use crate::association::Association;
use crate::config::PathPairing;
use crate::event::Event;
use crate::extension::asconf::Refusal;
use crate::handshake::{MAX_PEER_ADDRESSES, is_peer_address};
use crate::ids::{FourTuple, PathId};
use crate::policy::Trigger;
use crate::time::Time;

impl Association {
    /// Adds an address; it is verified before anything but heartbeats goes there (RFC 5061 section 5.3, F14).
    pub(super) fn add_peer_address(
        &mut self,
        now: Time,
        source: FourTuple,
        ip: IpAddr,
    ) -> Result<(), Refusal> {
        if !is_peer_address(ip, source.remote.ip()) {
            return Err(Refusal::Unresolvable);
        }
        if self.peer.addresses.contains(&ip) {
            return Ok(());
        }
        if self.peer.addresses.len() >= MAX_PEER_ADDRESSES {
            return Err(Refusal::Shortage);
        }
        self.peer.addresses.push(ip);
        self.pair_remote(now, source, ip);
        if self.paths_with(|t| t.remote.ip() == ip) == 0 {
            self.peer.addresses.retain(|a| *a != ip);
            return Err(Refusal::Shortage);
        }
        self.addresses_changed();
        Ok(())
    }

    /// Deletes an address. The wildcard stands for all but the packet's source (section 4.2.2).
    pub(super) fn delete_peer_address(
        &mut self,
        now: Time,
        source: FourTuple,
        ip: IpAddr,
    ) -> Result<(), Refusal> {
        let from = source.remote.ip();
        if ip.is_unspecified() {
            if !self.peer.addresses.contains(&from) && !self.paths.is_proven(from) {
                return Err(Refusal::Unresolvable);
            }
            let others = self.peer.addresses.iter().filter(|a| **a != from).copied().collect();
            self.drop_peer_addresses(now, source, others);
            return Ok(());
        }
        if !self.peer.addresses.contains(&ip) {
            return Ok(());
        }
        if self.peer.addresses.len() == 1 {
            return Err(Refusal::LastAddress);
        }
        if ip == from {
            return Err(Refusal::SourceAddress);
        }
        self.drop_peer_addresses(now, source, vec![ip]);
        Ok(())
    }

    /// The peer would rather have data at `ip`. Done as soon as that address is proven (section 5.4).
    pub(super) fn prefer_address(&mut self, now: Time, ip: IpAddr) -> Result<(), Refusal> {
        if !self.peer.addresses.contains(&ip) {
            return Err(Refusal::Unresolvable);
        }
        if let Some(asconf) = self.asconf.as_deref_mut() {
            asconf.wanted_primary = Some(ip);
        }
        self.heed_wanted_primary(now);
        Ok(())
    }

    /// Makes the path primary that the peer asked for, once there is one.
    pub(in crate::association) fn heed_wanted_primary(&mut self, _now: Time) {
        let Some(ip) = self.asconf.as_ref().and_then(|a| a.wanted_primary) else { return };
        let there = |p: &PathId| {
            let tuple = self.path_tuple(*p);
            self.paths.is_confirmed(*p) && tuple.is_some_and(|t| t.remote.ip() == ip)
        };
        let usable = |p: &PathId| self.paths.view(*p).is_some_and(|v| v.usable);
        let best =
            self.paths.live().filter(there).max_by_key(|p| (usable(p), core::cmp::Reverse(*p)));
        let Some(p) = best else { return };
        if let Some(asconf) = self.asconf.as_deref_mut() {
            asconf.wanted_primary = None;
        }
        if self.paths.primary != p {
            self.paths.primary = p;
            self.events.push_back(Event::PrimaryChanged(p));
            self.trigger(Trigger::Path);
        }
    }

    fn drop_peer_addresses(&mut self, now: Time, source: FourTuple, gone: Vec<IpAddr>) {
        self.peer.addresses.retain(|a| !gone.contains(a));
        // What remains must be reachable before the rest goes.
        if self.paths_with(|t| !gone.contains(&t.remote.ip())) == 0 {
            for remote in self.peer.addresses.clone() {
                self.pair_remote(now, source, remote);
            }
        }
        let leads_there =
            |p: &PathId| self.path_tuple(*p).is_some_and(|t| gone.contains(&t.remote.ip()));
        let paths: Vec<PathId> = self.paths.live().filter(leads_there).collect();
        for p in paths {
            self.remove_path(now, p);
        }
        if let Some(asconf) = self.asconf.as_deref_mut() {
            asconf.wanted_primary = asconf.wanted_primary.filter(|ip| !gone.contains(ip));
        }
        self.addresses_changed();
    }

    /// Paths to an address of the peer, by the rules of pairing; where packets come from there, one back along their way.
    fn pair_remote(&mut self, now: Time, source: FourTuple, ip: IpAddr) {
        if source.remote.ip() == ip
            && self.asconf.as_ref().is_some_and(|a| a.is_valid(source.local.ip()))
        {
            self.add_path(now, source, false);
        }
        for local in self.partners_at_home(source, ip) {
            let local = SocketAddr::new(local, self.local_port(local));
            self.add_path(now, FourTuple { local, remote: self.remote_socket(ip) }, false);
        }
    }

    fn partners_at_home(&self, source: FourTuple, ip: IpAddr) -> Vec<IpAddr> {
        let Some(asconf) = self.asconf.as_deref() else { return Vec::new() };
        let valid = || {
            let fitting = asconf.locals.iter().map(|l| l.ip).filter(|l| asconf.is_valid(*l));
            fitting.filter(|l| l.is_ipv4() == ip.is_ipv4())
        };
        match self.endpoint.pairing {
            PathPairing::Mesh => valid().collect(),
            PathPairing::Index => {
                let at = self.peer.addresses.iter().position(|a| *a == ip);
                let same = at.and_then(|at| asconf.locals.get(at)).map(|l| l.ip);
                let same = same.filter(|l| valid().any(|v| v == *l));
                same.or_else(|| self.rarest_local(ip)).into_iter().collect()
            }
            PathPairing::Learned => {
                let here = valid().find(|l| *l == source.local.ip());
                here.or_else(|| valid().next()).into_iter().collect()
            }
        }
    }

    /// The endpoint is to find the association by its new addresses, and by the old ones no more.
    pub(in crate::association) fn addresses_changed(&mut self) {
        self.address_generation = self.address_generation.wrapping_add(1);
    }
}
