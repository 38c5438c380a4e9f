//! A received COOKIE ECHO: a new association, a duplicate, a collision or a restart (RFC 9260
//! sections 5.1.5 and 5.2.4).

use core::net::SocketAddr;

use polypath_wire::chunk::kind;
use polypath_wire::{ErrorCause, InitFixed, PacketView, RawChunk};

use super::Endpoint;
use super::init::added_addresses;
use super::reply::Address;
use crate::association::{Association, LocalSide, State};
use crate::auth::{Auth, AuthOffer, Proof, judge_auth};
use crate::config::AssocConfig;
use crate::handshake::{Cookie, CookieStanding, PeerAuth, TieTags, is_unicast};
use crate::ids::{AssocHandle, FourTuple};
use crate::time::{Duration, Time};

/// What a valid cookie means for an existing association: the rows of Table 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A: the peer has restarted.
    Restart,
    /// B: both sides opened at the same time and the peer chose a new tag.
    Collision,
    /// C, and whatever the table does not show.
    Discard,
    /// D: our COOKIE ACK was lost, or the peer's cookie overtook its own.
    Duplicate,
}

impl Endpoint {
    pub(super) fn on_cookie_echo(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &PacketView<'_>,
        auth: Option<&RawChunk<'_>>,
        cookie: &[u8],
    ) {
        if !is_unicast(tuple.remote.ip()) || !is_unicast(tuple.local.ip()) || !self.is_ours(tuple) {
            self.stats.out_of_the_blue += 1;
            return;
        }
        let Some(cookie) = Cookie::open(cookie, &packet.header(), now, &mut self.keys) else {
            self.stats.bad_cookies += 1;
            return;
        };
        let to = Address { tag: cookie.peer.fixed.initiate_tag, ..self.reflected(tuple, packet) };
        let found = self.find_peer(tuple, to.peer_port, &cookie.peer);
        if !self.is_authentic(found, packet, auth, &cookie) {
            self.stats.bad_cookies += 1;
            return;
        }
        let accepted = match found {
            Some(h) => self.resolve(now, h, to, &cookie),
            None => self.accept(now, to, &cookie),
        };
        // DATA may follow in the same packet.
        if let Some(assoc) = accepted.and_then(|h| self.table.touch(h)) {
            if assoc.demands_protection() {
                // The peer missed our COOKIE ACK; what else is in the packet is not its own word.
                return assoc.acknowledge_cookie_again(tuple);
            }
            assoc.acknowledge_cookie(now, tuple);
            let proof = if auth.is_some() { Proof::Before } else { Proof::None };
            assoc.handle_packet(now, &tuple, None, packet, proof);
            // Behind the COOKIE ACK: before that the peer heeds no ASCONF.
            assoc.apply_pending_address_changes(now);
        }
    }

    /// Whether the COOKIE ECHO is authentic as far as it must be (RFC 4895 section 6.3): by the
    /// keys of the association that exists, else by those that the cookie tells. `auth` is the AUTH
    /// chunk in front of it.
    fn is_authentic(
        &mut self,
        found: Option<AssocHandle>,
        packet: &PacketView<'_>,
        auth: Option<&RawChunk<'_>>,
        cookie: &Cookie,
    ) -> bool {
        let existing = found.and_then(|h| self.table.touch(h)).and_then(|a| a.auth.as_deref_mut());
        let mut from_cookie;
        let by = match existing.filter(|auth| auth.is_on()) {
            Some(existing) => Some(existing),
            None => {
                from_cookie = cookie_auth(&self.config.assoc, cookie);
                from_cookie.as_mut()
            }
        };
        match (by, auth) {
            (Some(keys), Some(raw)) => judge_auth(keys, packet, raw).is_ok(),
            (Some(keys), None) => !keys.requires(kind::COOKIE_ECHO),
            // To who does not authenticate, AUTH is unknown: drop it and all behind it.
            (None, auth) => auth.is_none(),
        }
    }

    /// A new association; `None` if there is none after all.
    fn accept(&mut self, now: Time, to: Address, cookie: &Cookie) -> Option<AssocHandle> {
        if let Some(staleness) = cookie.stale_for(now) {
            return self.report_stale(now, to, staleness);
        }
        match self.used.standing(now, cookie.session.local_tag, cookie.created) {
            CookieStanding::Good => {}
            CookieStanding::Used => return self.refuse_used_cookie(now, to),
            CookieStanding::TooOld(excess) => return self.report_stale(now, to, excess),
        }
        // Only an association that is gone by now can have asked for this cookie.
        if !self.config.accept {
            self.stats.bad_cookies += 1;
            return None;
        }
        if self.is_crossed(to.peer_port, &cookie.peer.fixed) {
            return None;
        }
        if self.is_full_for(to.tuple.remote.ip()) {
            self.replies.abort(now, to, Some(ErrorCause::OutOfResource), &mut self.stats);
            return None;
        }
        if cookie.keys.is_some() && !self.replies.admits_key_exchange(now, to.tuple.remote.ip()) {
            // It comes again: T1-cookie spreads what is too much at once.
            self.stats.replies_suppressed += 1;
            return None;
        }
        self.used.remember(now, cookie.session.local_tag, cookie.created);
        let local = self.local_side(cookie);
        let (config, rng) = (self.config_at(cookie.created), self.rng.fork());
        let tuple = confirmed_tuple(to.tuple, cookie);
        let peer = (&cookie.peer, to.peer_port);
        let assoc = Association::accept(now, config, local, peer, cookie.keys.clone(), tuple, rng)?;
        let h = self.table.insert(assoc);
        self.pass_on_address_changes(h, cookie.created);
        Some(h)
    }

    /// Whether we opened, too, and that handshake leads to the same peer, whose address here nobody
    /// listed (a NAT hides it). Our COOKIE ECHO is on its way and tells the peer which association
    /// it is.
    fn is_crossed(&self, port: u16, peer: &InitFixed) -> bool {
        let found = self.table.find_peer(port, peer.initiate_tag, peer.initial_tsn);
        found.and_then(|h| self.table.get(h)).is_some_and(Association::has_opened)
    }

    /// The association that the cookie set up is over. A peer that still waits for its COOKIE ACK
    /// must have missed the ABORT.
    fn refuse_used_cookie(&mut self, now: Time, to: Address) -> Option<AssocHandle> {
        self.stats.bad_cookies += 1;
        self.replies.abort(now, to, None, &mut self.stats);
        None
    }

    /// The cookie is for an existing association. Gives its handle if the packet's other chunks are
    /// for it.
    fn resolve(
        &mut self,
        now: Time,
        h: AssocHandle,
        to: Address,
        cookie: &Cookie,
    ) -> Option<AssocHandle> {
        // One that is over is found until its last packet is fetched.
        let assoc = self.table.get(h).filter(|a| a.state() != State::Closed)?;
        let (local, peer, tie) = compare(assoc, cookie);
        let stale = cookie.stale_for(now).filter(|_| !(local && peer));
        if let Some(staleness) = stale {
            return self.report_stale(now, to, staleness);
        }
        let tuple = confirmed_tuple(to.tuple, cookie);
        let superseded = !assoc.state().is_setup() && self.is_superseded(cookie);
        match action(local, peer, cookie.tie_tags, tie) {
            Action::Discard => return None,
            // Anybody could say so in plain; a peer that has lost its keys is known by its silence.
            Action::Restart | Action::Collision if is_protected(assoc) => {
                self.table.touch(h)?.on_hint(now);
                return None;
            }
            Action::Collision if superseded => return None,
            Action::Restart => return self.restart(now, h, to, cookie),
            Action::Collision if assoc.is_outlived_by(&cookie.peer) => {
                return self.restart(now, h, to, cookie);
            }
            Action::Collision => {
                let keys = cookie.keys.as_ref();
                self.table.touch(h)?.on_cookie_collision(now, &cookie.peer, keys, tuple);
            }
            Action::Duplicate => self.table.touch(h)?.on_duplicate_cookie(now),
        }
        self.table.refresh(h);
        Some(h)
    }

    fn restart(
        &mut self,
        now: Time,
        h: AssocHandle,
        to: Address,
        cookie: &Cookie,
    ) -> Option<AssocHandle> {
        let local = self.local_side(cookie);
        let config = self.config_at(cookie.created);
        let assoc = self.table.touch(h)?;
        if assoc.state() == State::ShutdownAckSent {
            assoc.refuse_restart(now);
            return None;
        }
        // The INIT added none; but the association may have changed since.
        let added = added_addresses(assoc, &cookie.peer);
        if !added.is_empty() {
            self.refuse_new_addresses(now, to, &added);
            return None;
        }
        assoc.restart(now, config, local, &cookie.peer, confirmed_tuple(to.tuple, cookie));
        self.used.remember(now, cookie.session.local_tag, cookie.created);
        self.pass_on_address_changes(h, cookie.created);
        self.table.refresh(h);
        Some(h)
    }

    /// Whether the peer asked for a younger cookie with the same tag of ours: a collision has been
    /// resolved with that one, and this one, sent again, would give the peer its former tag.
    fn is_superseded(&self, cookie: &Cookie) -> bool {
        let youngest = self.used.youngest(cookie.session.local_tag);
        youngest.is_some_and(|youngest| cookie.created < youngest)
    }

    fn report_stale(&mut self, now: Time, to: Address, staleness: Duration) -> Option<AssocHandle> {
        self.stats.bad_cookies += 1;
        let micros = u32::try_from(staleness.as_micros()).unwrap_or(u32::MAX);
        self.replies.error(now, to, ErrorCause::StaleCookie(micros), &mut self.stats);
        None
    }

    fn local_side(&mut self, cookie: &Cookie) -> LocalSide {
        LocalSide {
            port: self.config.port,
            tag: cookie.session.local_tag,
            initial_tsn: cookie.session.local_tsn,
            tie_tag: self.rng.non_zero_u32(),
            random: cookie.random.map(Box::new),
        }
    }
}

/// The authentication of the association that a cookie would set up.
fn cookie_auth(config: &AssocConfig, cookie: &Cookie) -> Option<Auth> {
    let (PeerAuth::Offer(peer), Some(random)) = (&cookie.peer.auth, cookie.random) else {
        return None;
    };
    if !config.extensions.authentication {
        return None;
    }
    let mut auth = Auth::new(AuthOffer::ours(config, random), &config.auth);
    auth.agree(peer, &[]);
    Some(auth)
}

/// The path that the cookie proves: the peer got the INIT ACK there. The present packet may come
/// along another one.
const fn confirmed_tuple(tuple: FourTuple, cookie: &Cookie) -> FourTuple {
    FourTuple { local: SocketAddr::new(cookie.local, tuple.local.port()), remote: cookie.remote }
}

/// Whether what comes in plain cannot begin the association anew.
fn is_protected(assoc: &Association) -> bool {
    assoc.opens_packets() && !assoc.state().is_setup()
}

/// Whether our tag and the peer's are those of the association, and its tie-tags.
const fn compare(assoc: &Association, cookie: &Cookie) -> (bool, bool, TieTags) {
    let local = cookie.session.local_tag == assoc.local.tag;
    let peer = cookie.peer.fixed.initiate_tag == assoc.peer.tag;
    (local, peer, TieTags { local: assoc.local.tie_tag, peer: assoc.peer.tie_tag })
}

/// Table 12. `local` and `peer` say whether the cookie's tags match; an unknown tag matches
/// nothing.
fn action(local: bool, peer: bool, in_cookie: Option<TieTags>, existing: TieTags) -> Action {
    match (local, peer, in_cookie) {
        (false, false, Some(tie)) if tie == existing => Action::Restart,
        (true, false, _) => Action::Collision,
        (true, true, _) => Action::Duplicate,
        _ => Action::Discard,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_table_12() {
        let existing = TieTags { local: 1, peer: 2 };
        let other = TieTags { local: 1, peer: 3 };
        let ties = [None, Some(existing), Some(other)];
        assert_eq!(action(false, false, Some(existing), existing), Action::Restart);
        assert_eq!(action(false, false, Some(other), existing), Action::Discard);
        assert_eq!(action(false, false, None, existing), Action::Discard);
        for tie in ties {
            assert_eq!(action(true, false, tie, existing), Action::Collision);
            assert_eq!(action(false, true, tie, existing), Action::Discard);
            assert_eq!(action(true, true, tie, existing), Action::Duplicate);
        }
    }
}
