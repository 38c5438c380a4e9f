//! The way out: ASCONF, one at a time, and what its answer says (RFC 5061 sections 5.1 and 5.3).

use core::net::IpAddr;

use polypath_wire::{AsconfAckChunk, COMMON_HEADER_LEN, ErrorCause};

use crate::association::Association;
use crate::event::AddressChange;
use crate::extension::asconf::{
    ASCONF_HEADER, Asconf, Request, Standing, Wanted, choose_path, results,
};
use crate::ids::PathId;
use crate::time::Time;

impl Association {
    /// Sends what is queued, unless an answer is awaited.
    pub(super) fn send_asconf(&mut self, now: Time) {
        if !self.state.may_change_addresses() {
            return;
        }
        let Some(path) = choose_path(&self.paths, self.endpoint.behind_nat, None) else { return };
        let limit = self.paths.packet_limit(path);
        let room = limit.saturating_sub(COMMON_HEADER_LEN + self.auth_reserve() + ASCONF_HEADER);
        let idle = |a: &&mut Asconf| a.outstanding.is_none() && !a.queue.is_empty();
        let Some(asconf) = self.asconf.as_deref_mut().filter(idle) else { return };
        asconf.begin_next(path, room, &self.paths, self.endpoint.behind_nat);
        self.transmit_asconf(now, path);
    }

    /// Sends the outstanding chunk on `path` and starts T4.
    fn transmit_asconf(&mut self, now: Time, path: PathId) {
        let expiry = now + self.rto(path);
        if let Some(asconf) = self.asconf.as_deref_mut() {
            asconf.transmit(path, expiry, &self.paths, &mut self.control);
        }
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
        if let Some(path) = choose_path(&self.paths, self.endpoint.behind_nat, Some(path)) {
            self.transmit_asconf(now, path);
        }
    }

    /// The answer to an ASCONF came. An answer to one that we never sent ends the association
    /// (section 5.3, F0).
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
            self.stop_asking(now, wanted);
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

    /// The peer does not know such requests (section 5.3, F3a and F3b): those that wait are refused
    /// with it.
    fn stop_asking(&mut self, now: Time, wanted: Wanted) {
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
        self.give_up_changing_addresses(now);
    }
}
