//! The way out: ASCONF, one at a time, and what its answer says (RFC 5061 sections 5.1 and 5.3).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use polypath_wire::param::AsconfRequest;
use polypath_wire::{
    AsconfAckChunk, AsconfChunk, COMMON_HEADER_LEN, EncodeChunk as _, ErrorCause, Parameter,
    ParamsBuf,
};

use crate::association::Association;
use crate::control::{Bundling, Encoded};
use crate::event::AddressChange;
use crate::extension::asconf::{
    ASCONF_HEADER, Asconf, Outstanding, Request, Standing, Wanted, results,
};
use crate::ids::PathId;
use crate::time::Time;
use crate::view::PathState;

impl Association {
    /// Sends what is queued, unless an answer is awaited.
    pub(super) fn send_asconf(&mut self, now: Time) {
        if !self.state.may_change_addresses() {
            return;
        }
        let Some(path) = self.asconf_path(None) else { return };
        let limit = self.paths.packet_limit(path);
        let room = limit.saturating_sub(COMMON_HEADER_LEN + self.auth_reserve() + ASCONF_HEADER);
        let idle = |a: &&mut Asconf| a.outstanding.is_none() && !a.queue.is_empty();
        let Some(asconf) = self.asconf.as_deref_mut().filter(idle) else { return };
        let requests = asconf.next_requests(room);
        let serial = asconf.next_serial;
        asconf.next_serial = serial.wrapping_add(1);
        let chunk = self.encode_asconf(serial, path, &requests);
        if let Some(asconf) = self.asconf.as_deref_mut() {
            asconf.outstanding = Some(Outstanding { serial, requests, chunk, path });
        }
        self.transmit_asconf(now, path);
    }

    fn encode_asconf(&self, serial: u32, path: PathId, requests: &[Request]) -> Vec<u8> {
        let params: ParamsBuf = requests
            .iter()
            .map(|r| {
                let correlation = r.correlation;
                let request = AsconfRequest { correlation, address: self.on_the_wire(r.ip) };
                match r.wanted {
                    Wanted::Add => Parameter::AddIp(request),
                    Wanted::Primary => Parameter::SetPrimary(request),
                    Wanted::Delete => Parameter::DeleteIp(request),
                }
            })
            .collect();
        let address = self.on_the_wire(self.lookup_address(path));
        let mut bytes = Vec::new();
        AsconfChunk { serial, address, params: params.as_params() }.encode(&mut bytes);
        bytes
    }

    /// An address as the peer is told it. Behind a NAT our addresses mean nothing to it: the packet's source does
    /// (RFC 6951 section 4.1), for which the wildcard stands.
    fn on_the_wire(&self, ip: IpAddr) -> IpAddr {
        match ip {
            _ if !self.endpoint.behind_nat => ip,
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }

    /// An address of ours that the peer knows, by which it finds the association (section 4.1.1): that of the path if it can be,
    /// or one that is on its way out (section 5.3.2).
    fn lookup_address(&self, path: PathId) -> IpAddr {
        let own = self.path_tuple(path).map(|t| t.local.ip());
        let Some(asconf) = self.asconf.as_deref() else {
            return own.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        };
        let first = |standing| asconf.locals.iter().find(|l| l.standing == standing).map(|l| l.ip);
        own.filter(|ip| asconf.is_valid(*ip))
            .or_else(|| first(Standing::Valid))
            .or_else(|| first(Standing::Deleting))
            .or(own)
            .unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    /// The path for an ASCONF, another than `not` if possible. Paths from addresses that are being deleted are gone (section 5.3,
    /// F6); one from an address that is being added will do if there is no better (F1).
    ///
    /// Behind a NAT, an addition must come from the address itself, since that is what it names.
    fn asconf_path(&self, not: Option<PathId>) -> Option<PathId> {
        let others = || self.paths.live().filter(|p| Some(*p) != not);
        let view = |p: &PathId| self.paths.view(*p);
        let usable = |p: &PathId| view(p).is_some_and(|v| v.usable);
        let active = |p: &PathId| view(p).is_some_and(|v| v.state == PathState::Active);
        if self.endpoint.behind_nat
            && let Some(p) = others().find(|p| self.paths.is_dormant(*p))
        {
            return Some(p);
        }
        let preferred = self.paths.preferred();
        let preferred = others().find(|p| *p == preferred && usable(p));
        preferred
            .or_else(|| others().find(active))
            .or_else(|| others().find(usable))
            .or_else(|| others().find(|p| self.paths.is_dormant(*p)))
            .or_else(|| others().find(|p| self.paths.is_confirmed(*p)))
            .or_else(|| others().next())
            .or(not)
    }

    /// Sends the outstanding chunk on `path` and starts T4.
    fn transmit_asconf(&mut self, now: Time, path: PathId) {
        let rto = self.rto(path);
        let Some(asconf) = self.asconf.as_deref_mut() else { return };
        let Some(outstanding) = &mut asconf.outstanding else { return };
        outstanding.path = path;
        asconf.t4 = now + rto;
        let chunk = outstanding.chunk.clone();
        let bundling = if self.paths.is_confirmed(path) { Bundling::Free } else { Bundling::Alone };
        self.send_control(path, &Encoded(&chunk), bundling);
    }

    /// T4 expired (section 5.1, B1 to B5).
    pub(in crate::association) fn on_t4(&mut self, now: Time) {
        let Some(asconf) = self.asconf.as_deref_mut() else { return };
        asconf.t4 = Time::MAX;
        let Some(path) = asconf.outstanding.as_ref().map(|o| o.path) else { return };
        if !self.state.may_change_addresses() {
            return;
        }
        self.count_failure(now, path, true, true);
        if !self.state.may_change_addresses() {
            return;
        }
        if let Some(path) = self.asconf_path(Some(path)) {
            self.transmit_asconf(now, path);
        }
    }

    /// The answer to an ASCONF came. An answer to one that we never sent ends the association (section 5.3, F0).
    pub(in crate::association) fn on_asconf_ack(&mut self, now: Time, ack: &AsconfAckChunk<'_>) {
        let Some(asconf) = self.asconf.as_deref_mut() else { return };
        if !self.state.may_change_addresses() {
            return;
        }
        let ahead = ack.serial.wrapping_sub(asconf.next_serial) as i32;
        if ahead >= 0 {
            return self.abort_with(&ErrorCause::IllegalAsconfAck);
        }
        let Some(done) = asconf.outstanding.take_if(|o| o.serial == ack.serial) else { return };
        asconf.t4 = Time::MAX;
        self.errors = 0;
        if let Some(view) = self.paths.view_mut(done.path) {
            view.errors = 0;
        }
        let results = results(&done.requests, ack);
        for (request, result) in done.requests.iter().zip(results) {
            self.conclude(now, *request, result);
        }
        self.send_asconf(now);
    }

    fn conclude(&mut self, now: Time, request: Request, result: Result<(), u16>) {
        let Request { wanted, ip, .. } = request;
        if result == Err(polypath_wire::cause::code::UNRECOGNIZED_PARAMETERS) {
            self.never_again(now, wanted);
        }
        match (wanted, result) {
            (Wanted::Add, Ok(())) => self.validate_local(now, ip),
            (Wanted::Delete, Ok(())) => self.deleted(now, ip),
            (Wanted::Primary, Ok(())) => self.tell(ip, AddressChange::Primary),
            (_, Err(cause)) => self.refused(now, wanted, ip, Some(cause)),
        }
    }

    /// A request is not granted, with the peer's cause if it gave one: what was begun is undone.
    pub(super) fn refused(&mut self, now: Time, wanted: Wanted, ip: IpAddr, cause: Option<u16>) {
        let change = match wanted {
            Wanted::Add => {
                self.forget_local(now, ip);
                AddressChange::AddRefused { cause }
            }
            Wanted::Delete => {
                self.restore_local(now, ip);
                AddressChange::RemoveRefused { cause: cause.unwrap_or(0) }
            }
            Wanted::Primary => AddressChange::PrimaryRefused { cause: cause.unwrap_or(0) },
        };
        self.tell(ip, change);
    }

    /// The peer does not know such requests (section 5.3, F3a and F3b): those that wait are refused with it.
    fn never_again(&mut self, now: Time, wanted: Wanted) {
        let Some(asconf) = self.asconf.as_deref_mut() else { return };
        match wanted {
            Wanted::Add | Wanted::Delete => asconf.refused = true,
            Wanted::Primary => asconf.primary_refused = true,
        }
        let alike = |r: &Request| (r.wanted == Wanted::Primary) == (wanted == Wanted::Primary);
        let (mut waiting, rest): (Vec<_>, Vec<_>) = asconf.queue.drain(..).partition(alike);
        asconf.queue.extend(rest);
        // What comes back first, so that a path that goes is not the last one.
        waiting.sort_by_key(|r| core::cmp::Reverse(r.wanted));
        for Request { wanted, ip, .. } in waiting {
            self.refused(now, wanted, ip, None);
        }
    }

    fn deleted(&mut self, now: Time, ip: IpAddr) {
        let again = self.asconf.as_deref_mut().and_then(|asconf| {
            let again = asconf.queue.iter().any(|r| r.ip == ip && r.wanted == Wanted::Add);
            asconf.local(ip).filter(|_| again).map(|l| l.standing = Standing::Adding)
        });
        match again {
            // It was asked for anew in the meantime.
            Some(()) => self.pair_local(now, ip, true),
            None => self.forget_local(now, ip),
        }
        self.tell(ip, AddressChange::Removed);
    }

    /// The peer says that it does not know the ASCONF chunk (section 5.1, A9).
    pub(in crate::association) fn on_unknown_asconf(&mut self, now: Time) {
        self.refuse_asconf(now);
    }
}
