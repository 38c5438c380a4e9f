//! Our own addresses: what the application asks for, and where each of them stands.

use core::net::{IpAddr, SocketAddr};

use polypath_wire::{EncodeChunk as _, HeartbeatChunk};

use crate::association::Association;
use crate::config::PathPairing;
use crate::control::{Bundling, Encoded};
use crate::event::{AddressChange, Event};
use crate::extension::asconf::{
    AddressChangeRequest, AddressError, Asconf, LocalAddress, MAX_LOCAL, Request, Standing, Wanted,
};
use crate::handshake::is_unicast;
use crate::ids::{FourTuple, PathId};
use crate::path::clock_of;
use crate::time::Time;

impl Association {
    /// Announces another address of ours to the peer, `address.port()` being our UDP port there (0
    /// without encapsulation). Once the peer has accepted it ([`AddressChange::Added`]), paths from
    /// there are verified, and then carry data. During set-up the call is kept for later.
    ///
    /// # Errors
    /// When it cannot be done; nothing has changed then.
    pub fn add_local_address(
        &mut self,
        now: Time,
        address: SocketAddr,
    ) -> Result<(), AddressError> {
        let ip = address.ip();
        if !is_unicast(ip) {
            return Err(AddressError::NotUnicast { address: ip });
        }
        if self.is_setting_up() {
            self.setup.defer_address_change(AddressChangeRequest::Add(address));
            return Ok(());
        }
        let asconf = self.changeable()?;
        match asconf.standing(ip) {
            Some(Standing::Valid | Standing::Adding) => {
                asconf.awaiting_replacement = asconf
                    .awaiting_replacement
                    .filter(|awaiting_replacement| *awaiting_replacement != ip);
                return Ok(());
            }
            Some(Standing::Deleting) if asconf.withdraw_request(ip, Wanted::Delete) => {
                self.restore_local(now, ip);
                return Ok(());
            }
            Some(Standing::Deleting) => {}
            None if asconf.locals.len() >= MAX_LOCAL => return Err(AddressError::TooMany),
            None => {
                let standing = Standing::Adding;
                asconf.locals.push(LocalAddress { ip, port: address.port(), standing });
                self.pair_local(now, ip, true);
            }
        }
        self.request(Wanted::Add, ip);
        self.remove_replaced_address(now);
        self.send_asconf(now);
        Ok(())
    }

    /// Takes an address of ours back. From now on nothing is sent from there; what was in flight
    /// goes out again on other paths. If it is the only one, it goes once there is another. Whoever
    /// still can use it should let the new paths become [active](crate::view::PathState::Active)
    /// first: otherwise data waits until they are.
    ///
    /// # Errors
    /// When it cannot be done; nothing has changed then.
    pub fn remove_local_address(&mut self, now: Time, ip: IpAddr) -> Result<(), AddressError> {
        if self.is_setting_up() {
            self.setup.defer_address_change(AddressChangeRequest::Remove(ip));
            return Ok(());
        }
        let asconf = self.changeable()?;
        match asconf.standing(ip).ok_or(AddressError::Unknown { address: ip })? {
            Standing::Deleting => return Ok(()),
            Standing::Adding if asconf.withdraw_request(ip, Wanted::Add) => {
                self.forget_local(now, ip);
                return Ok(());
            }
            Standing::Adding | Standing::Valid => {}
        }
        let another = asconf.locals.iter().any(|l| l.ip != ip && l.standing != Standing::Deleting);
        if another {
            self.begin_deleting(now, ip);
            self.send_asconf(now);
        } else {
            asconf.awaiting_replacement = Some(ip);
        }
        Ok(())
    }

    /// Asks the peer to send to this address of ours by preference. It need not.
    ///
    /// # Errors
    /// When it cannot be done; nothing has changed then.
    pub fn set_peer_primary(&mut self, now: Time, ip: IpAddr) -> Result<(), AddressError> {
        let asconf = self.changeable()?;
        match asconf.standing(ip) {
            _ if asconf.primary_refused => return Err(AddressError::Unsupported),
            Some(Standing::Valid | Standing::Adding) => {}
            Some(Standing::Deleting) | None => return Err(AddressError::Unknown { address: ip }),
        }
        self.request(Wanted::Primary, ip);
        self.send_asconf(now);
        Ok(())
    }

    /// Our addresses that the peer knows, as far as they may change; empty where they may not.
    pub fn local_addresses(&self) -> Vec<IpAddr> {
        let locals = self.asconf.iter().flat_map(|asconf| &asconf.locals);
        locals.filter(|l| l.standing == Standing::Valid).map(|l| l.ip).collect()
    }

    /// The peer's addresses, whether proven or not.
    pub fn peer_addresses(&self) -> &[IpAddr] {
        &self.peer.addresses
    }

    /// Whether addresses may change: both sides agreed on that.
    pub const fn has_dynamic_addresses(&self) -> bool {
        self.caps.agreed.dynamic_addresses
    }

    fn changeable(&mut self) -> Result<&mut Asconf, AddressError> {
        if !self.state.may_change_addresses() {
            return Err(AddressError::Closing);
        }
        let asconf = self.asconf.as_deref_mut().filter(|asconf| !asconf.refused);
        asconf.ok_or(AddressError::Unsupported)
    }

    /// The association is set up: notes which of our addresses the peer knows.
    pub(in crate::association) fn start_asconf(&mut self) {
        if !self.caps.agreed.dynamic_addresses {
            self.asconf = None;
            return;
        }
        let standing = Standing::Valid;
        let known = self.announced_addresses().into_iter();
        let locals = known.map(|ip| LocalAddress { ip, port: self.local_port(ip), standing });
        let locals = locals.collect();
        let (ours, peers) = (self.local.initial_tsn, self.peer.initial_tsn);
        self.asconf = Some(Box::new(Asconf::new(ours, peers, locals)));
    }

    /// What happened to our addresses while the peer set the association up.
    pub(crate) fn defer_address_change(&mut self, at: SocketAddr, add: bool) {
        self.setup.defer_address_change(if add {
            AddressChangeRequest::Add(at)
        } else {
            AddressChangeRequest::Remove(at.ip())
        });
    }

    /// Set-up is done: makes the changes of addresses that were asked for meanwhile. Where
    /// addresses cannot change they are dropped.
    pub(crate) fn apply_pending_address_changes(&mut self, now: Time) {
        if self.is_exchanging_keys() {
            return;
        }
        let waiting = self.setup.address_changes.take().unwrap_or_default();
        for change in waiting.0 {
            let _refused = match change {
                AddressChangeRequest::Add(address) => self.add_local_address(now, address),
                AddressChangeRequest::Remove(ip) => self.remove_local_address(now, ip),
            };
        }
    }

    /// Our addresses, those left out that are on their way out.
    pub(in crate::association) fn present_locals(&self) -> Option<Vec<IpAddr>> {
        let locals = &self.asconf.as_ref()?.locals;
        let present = locals.iter().filter(|l| l.standing != Standing::Deleting);
        Some(present.map(|l| l.ip).collect())
    }

    /// Where `ip` stands as an address of ours; `None`: it is not one.
    pub(in crate::association) fn local_standing(&self, ip: IpAddr) -> Option<Standing> {
        match self.asconf.as_deref() {
            Some(asconf) => asconf.standing(ip),
            None => self.endpoint.addresses.contains(&ip).then_some(Standing::Valid),
        }
    }

    /// Whether addresses may change.
    #[inline]
    pub(in crate::association) const fn changes_addresses(&self) -> bool {
        self.asconf.is_some()
    }

    /// Whether `ip` is being taken back from the peer.
    #[inline]
    pub(in crate::association) fn is_leaving(&self, ip: IpAddr) -> bool {
        self.changes_addresses() && self.local_standing(ip) == Some(Standing::Deleting)
    }

    /// Whether packets go out from `ip`, or may still come in there.
    pub(crate) fn uses_local(&self, ip: IpAddr) -> bool {
        !self.paths_from(ip).is_empty()
            || self.asconf.is_some() && self.local_standing(ip).is_some()
    }

    /// Answers a HEARTBEAT; where nothing may be sent yet, as soon as it may.
    pub(in crate::association) fn answer_heartbeat(
        &mut self,
        now: Time,
        p: PathId,
        heartbeat: &HeartbeatChunk<'_>,
    ) {
        let ack = heartbeat.to_ack();
        if !self.paths.is_dormant(p) {
            if self.caps.agreed.sack_thinning {
                let ack = heartbeat.to_timed_ack(clock_of(now));
                return self.send_control(p, &ack, Bundling::Free);
            }
            return self.send_control(p, &ack, Bundling::Free);
        }
        let mut bytes = Vec::new();
        ack.encode(&mut bytes);
        if let Some(asconf) = self.asconf.as_deref_mut() {
            asconf.held_answer = Some((p, bytes));
        }
    }

    fn release_held_answer(&mut self) {
        let held = self.asconf.as_deref_mut().and_then(|asconf| asconf.held_answer.take());
        if let Some((p, bytes)) = held.filter(|(p, _)| !self.paths.is_dormant(*p)) {
            self.send_control(p, &Encoded(&bytes), Bundling::Free);
        }
    }

    /// Paths between a new address of ours and the peer's addresses; `dormant` until the peer knows
    /// it.
    pub(super) fn pair_local(&mut self, now: Time, ip: IpAddr, dormant: bool) {
        let port = self.local_port(ip);
        for remote in self.remotes_to_pair(ip) {
            let tuple =
                FourTuple { local: SocketAddr::new(ip, port), remote: self.remote_socket(remote) };
            let known = self.paths.by_tuple(&tuple).is_some();
            if let Some(p) = self.add_path(now, tuple, false).filter(|_| !known && dormant) {
                self.paths.make_dormant(p);
            }
        }
    }

    fn remotes_to_pair(&self, ip: IpAddr) -> Vec<IpAddr> {
        let family = |a: &&IpAddr| a.is_ipv4() == ip.is_ipv4();
        let all = || self.peer.addresses.iter().filter(family);
        match self.endpoint.pairing {
            PathPairing::Mesh => all().copied().collect(),
            PathPairing::Index => {
                let locals = self.asconf.as_ref().map(|a| a.locals.iter());
                let at = locals.and_then(|mut locals| locals.position(|l| l.ip == ip));
                let same = at.and_then(|at| self.peer.addresses.get(at)).filter(family);
                let rarest = || all().min_by_key(|a| self.paths_with(|t| t.remote.ip() == **a));
                same.or_else(rarest).copied().into_iter().collect()
            }
            PathPairing::Learned => {
                // Those that paths lead to: which of them this address reaches, heartbeats will
                // tell.
                let reached = |a: &&IpAddr| self.paths_with(|t| t.remote.ip() == **a) > 0;
                all().filter(reached).copied().collect()
            }
        }
    }

    pub(super) fn paths_with(&self, wanted: impl Fn(FourTuple) -> bool) -> usize {
        self.paths.live().filter_map(|p| self.path_tuple(p)).filter(|t| wanted(*t)).count()
    }

    /// The peer accepted `ip`.
    pub(super) fn validate_local(&mut self, now: Time, ip: IpAddr) {
        let asconf = self.asconf.as_deref_mut();
        let local = asconf.and_then(|a| a.local(ip)).filter(|l| l.standing == Standing::Adding);
        let Some(local) = local else { return };
        local.standing = Standing::Valid;
        for p in self.paths_from(ip) {
            if let Some(path) = self.paths.get_mut(p) {
                path.dormant = false;
            }
            self.start_heartbeats(now, p);
        }
        self.release_held_answer();
        self.tell(ip, AddressChange::Added);
    }

    /// The deletion of `ip` is not to be, or was refused.
    pub(super) fn restore_local(&mut self, now: Time, ip: IpAddr) {
        let asconf = self.asconf.as_deref_mut();
        if let Some(local) = asconf.and_then(|a| a.local(ip)) {
            local.standing = Standing::Valid;
            self.pair_local(now, ip, false);
        }
    }

    /// `ip` is none of ours any more.
    pub(super) fn forget_local(&mut self, now: Time, ip: IpAddr) {
        for p in self.paths_from(ip) {
            self.remove_path(now, p);
        }
        if let Some(asconf) = self.asconf.as_deref_mut() {
            asconf.locals.retain(|l| l.ip != ip);
            asconf.queue.retain(|request| request.ip != ip);
            asconf.awaiting_replacement = asconf
                .awaiting_replacement
                .filter(|awaiting_replacement| *awaiting_replacement != ip);
        }
    }

    fn begin_deleting(&mut self, now: Time, ip: IpAddr) {
        if let Some(local) = self.asconf.as_deref_mut().and_then(|a| a.local(ip)) {
            local.standing = Standing::Deleting;
        }
        for p in self.paths_from(ip) {
            self.remove_path(now, p);
        }
        self.pair_uncovered_remotes(now);
        self.request(Wanted::Delete, ip);
    }

    /// The address that waited for another to take its place goes now.
    fn remove_replaced_address(&mut self, now: Time) {
        let awaiting_replacement =
            self.asconf.as_deref_mut().and_then(|a| a.awaiting_replacement.take());
        if let Some(ip) = awaiting_replacement {
            self.begin_deleting(now, ip);
        }
    }

    /// Pairing by index: an address of the peer that lost its partner gets another.
    fn pair_uncovered_remotes(&mut self, now: Time) {
        if self.endpoint.pairing != PathPairing::Index {
            return;
        }
        for remote in self.peer.addresses.clone() {
            if self.paths_with(|t| t.remote.ip() == remote) > 0 {
                continue;
            }
            if let Some(local) = self.least_used_local(remote) {
                let local = SocketAddr::new(local, self.local_port(local));
                let tuple = FourTuple { local, remote: self.remote_socket(remote) };
                self.add_path(now, tuple, false);
            }
        }
    }

    /// The address of ours with the fewest paths that may reach `remote`.
    pub(super) fn least_used_local(&self, remote: IpAddr) -> Option<IpAddr> {
        let asconf = self.asconf.as_ref()?;
        let valid = asconf.locals.iter().filter(|l| l.standing == Standing::Valid);
        let fitting = valid.filter(|l| l.ip.is_ipv4() == remote.is_ipv4());
        fitting.map(|l| l.ip).min_by_key(|ip| self.paths_with(|t| t.local.ip() == *ip))
    }

    fn paths_from(&self, ip: IpAddr) -> Vec<PathId> {
        let from = |p: &PathId| self.path_tuple(*p).is_some_and(|t| t.local.ip() == ip);
        self.paths.live().filter(from).collect()
    }

    /// Our UDP port at `ip`: as it was given, or that of the first path.
    pub(super) fn local_port(&self, ip: IpAddr) -> u16 {
        let given = self.asconf.iter().flat_map(|a| &a.locals).find(|l| l.ip == ip && l.port != 0);
        let tuples = || self.paths.iter().map(|(_, path)| path.tuple.local);
        let here = || tuples().find(|local| local.ip() == ip).map(|local| local.port());
        let first = || tuples().next().map_or(0, |local| local.port());
        given.map(|l| l.port).or_else(here).unwrap_or_else(first)
    }

    /// The peer's address with the UDP port where it was last heard (RFC 6951 section 5.4), or that
    /// of the best path.
    pub(super) fn remote_socket(&self, ip: IpAddr) -> SocketAddr {
        let live = || self.paths.live().filter_map(|p| self.path_tuple(p)).map(|t| t.remote);
        let best = || self.path_tuple(self.paths.preferred()).map(|t| t.remote);
        let port = live().find(|remote| remote.ip() == ip).or_else(best).map_or(0, |r| r.port());
        SocketAddr::new(ip, port)
    }

    fn request(&mut self, wanted: Wanted, ip: IpAddr) {
        if let Some(asconf) = self.asconf.as_deref_mut() {
            let correlation = asconf.next_correlation;
            asconf.next_correlation = correlation.wrapping_add(1);
            asconf.queue.push_back(Request { wanted, ip, correlation });
        }
    }

    pub(super) fn tell(&mut self, address: IpAddr, change: AddressChange) {
        self.events.push_back(Event::LocalAddress { address, change });
    }

    /// Gives up changing addresses: what is half done is undone.
    pub(super) fn give_up_changing_addresses(&mut self, now: Time) {
        let Some(asconf) = self.asconf.as_deref_mut() else { return };
        (asconf.refused, asconf.outstanding, asconf.t4) = (true, None, Time::MAX);
        asconf.queue.clear();
        let all = |s| asconf.locals.iter().filter(move |l| l.standing == s).map(|l| l.ip).collect();
        let (deleting, adding): (Vec<IpAddr>, Vec<IpAddr>) =
            (all(Standing::Deleting), all(Standing::Adding));
        // What comes back first, so that the path that goes is not the last one.
        for ip in deleting {
            self.refused(now, Wanted::Delete, ip, None);
        }
        for ip in adding {
            self.refused(now, Wanted::Add, ip, None);
        }
    }
}
