//! Set-up as the side that answers: valid cookies (RFC 9260 sections 5.1.5 and 5.2.4).

use std::sync::Arc;

use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, EncodeChunk as _, ErrorCause};

use super::progress::Setup;
use crate::association::timers::Timers;
use crate::association::{Association, LocalSide, State};
use crate::config::EndpointConfig;
use crate::control::{Bundling, ControlChunk};
use crate::event::Event;
use crate::extension::buffer_tuning::congestion_config;
use crate::handshake::{InitFault, KeyFault, KeyOffer, PeerInit};
use crate::ids::FourTuple;
use crate::path::{DeliveryRate, Verification};
use crate::rng::Rng;
use crate::sender::Sender;
use crate::time::Time;
use crate::view::PathState;

impl Association {
    /// The association that a cookie describes, set up. `tuple` is where the INIT ACK went, so the
    /// peer is there.
    pub(crate) fn accept(
        now: Time,
        endpoint: Arc<EndpointConfig>,
        local: LocalSide,
        (peer, peer_port): (&PeerInit, u16),
        keys: Option<KeyOffer>,
        tuple: FourTuple,
        rng: Rng,
    ) -> Option<Self> {
        let mut assoc = Self::new(endpoint.assoc.clone(), endpoint, local, rng);
        assoc.peer.port = peer_port;
        if let Some(keys) = keys {
            assoc.await_keys(keys);
        }
        assoc.adopt_peer(peer);
        // The INIT was answered because both ends can agree.
        assoc.agree_on_protection(now, peer.keys.as_ref()).ok()?;
        assoc.enter_established(now);
        // Only now, so that the event of the association comes before those of its paths.
        assoc.add_path(now, tuple, true);
        assoc.pair_addresses(now);
        assoc.start_asconf();
        Some(assoc)
    }

    /// Whether the peer of action B, which opened after it had answered our INIT (RFC 9260 section
    /// 5.2.4), is another life than the one that data was exchanged with: its TSNs begin elsewhere,
    /// and what that one had is lost. It may also agree on other things.
    pub(crate) fn is_outlived_by(&self, peer: &PeerInit) -> bool {
        if self.state.is_setup() || peer.fixed.initial_tsn == self.peer.initial_tsn {
            return false;
        }
        // Who sent SHUTDOWN is not who asks for an association now: that one would get a SHUTDOWN
        // ACK for nothing it said.
        let ended = matches!(self.state, State::ShutdownReceived | State::ShutdownAckSent);
        let exchanged = ended || self.rx.stats().chunks > 0 || self.stats.sacks_received > 0;
        exchanged || !self.tx.is_drained() && self.caps_with(peer) != self.caps
    }

    /// Action B: the peer opened, too, and has another tag than we knew, or we knew none.
    pub(crate) fn on_cookie_collision(
        &mut self,
        now: Time,
        peer: &PeerInit,
        keys: Option<&KeyOffer>,
        tuple: FourTuple,
    ) {
        // Nothing was exchanged with the life that the peer had before: what is in flight to it is
        // sent again.
        let another = peer.fixed.initial_tsn != self.peer.initial_tsn;
        let untouched = another || self.rx.stats().chunks == 0 && self.tx.is_drained();
        if self.state.is_setup() {
            self.control.clear();
            self.adopt_peer(peer);
            if self.agree_anew(now, keys, peer.keys.as_ref()).is_err() {
                return self.abort_with(&InitFault::Keys(KeyFault::Roles).cause());
            }
            self.reached_on(now, tuple);
            self.enter_established(now);
        } else if untouched {
            self.adopt_peer(peer);
            self.start_receiver();
            self.start_asconf();
            self.tx.set_peer_window(self.peer.a_rwnd);
        } else {
            // Data flows already; there is no new peer, only a new name for it.
            self.peer.tag = peer.fixed.initiate_tag;
            self.adopt_auth(peer);
        }
    }

    /// The peer's handshake succeeded in place of ours, on this path. What it knows of us is what
    /// our INIT ACK told it there: of a bare one, the address that it came from alone. Another one
    /// has to prove that the peer knows it.
    fn reached_on(&mut self, now: Time, tuple: FourTuple) {
        let Some(path) = self.add_path(now, tuple, true) else { return };
        self.prefer_path(path);
        if !self.config.minimal_init {
            return;
        }
        for p in self.paths.ids() {
            let Some((view, path)) = self.paths.both_mut(p) else { continue };
            if path.tuple.local.ip() != tuple.local.ip() && view.state == PathState::Active {
                view.state = PathState::Unconfirmed;
                path.verification = Verification::default();
            }
        }
        self.paths.refresh_usable();
    }

    /// Action D: the cookie is that of the association as it is.
    pub(crate) fn on_duplicate_cookie(&mut self, now: Time) {
        if self.state == State::CookieEchoed {
            self.control.clear();
            self.enter_established(now);
        }
    }

    /// Action A: the peer has lost everything and begins anew with the same addresses. So do we:
    /// messages not delivered are reported, numbers and windows start again, and every path but the
    /// proven one must be verified anew.
    pub(crate) fn restart(
        &mut self,
        now: Time,
        endpoint: Arc<EndpointConfig>,
        local: LocalSide,
        peer: &PeerInit,
        tuple: FourTuple,
    ) {
        for (message, stream, sent) in self.tx.drain_undelivered() {
            self.events.push_back(Event::SendFailed { message, stream, sent });
        }
        self.end_receiver();
        self.local = local;
        // The new life's INIT ACK announced what the endpoint had then.
        self.endpoint = endpoint;
        self.asconf = None;
        self.address_generation = self.address_generation.wrapping_add(1);
        self.restart_auth();
        let cc = congestion_config(&self.config);
        self.policies = self.rng.with(|rng| self.config.policies.build(&cc, rng));
        self.tx = Sender::new(self.local.initial_tsn, &self.config);
        self.setup = Setup::default();
        self.timers = Timers::default();
        self.held = None;
        self.control.clear();
        self.adopt_peer(peer);
        self.events.push_back(Event::Restarted);
        self.reset_paths(now, tuple);
        self.enter_established(now);
    }

    /// A restart while we wait for SHUTDOWN COMPLETE: the old association ends first.
    pub(crate) fn refuse_restart(&mut self, now: Time) {
        self.resend_shutdown_ack(now);
        self.send_error(self.setup.path, &ErrorCause::CookieWhileShuttingDown);
    }

    fn reset_paths(&mut self, now: Time, proven: FourTuple) {
        let live: Vec<_> = self.paths.live().collect();
        for p in live {
            self.tx.add_path(p);
            let initial = self.config.rto.initial;
            let Some((view, path)) = self.paths.both_mut(p) else { continue };
            (view.outstanding, view.outstanding_payload, view.queued) = (0, 0, 0);
            (view.duplicate_bytes_in_flight, view.silent) = (0, false);
            (view.errors, view.in_recovery, view.rto) = (0, false, initial);
            (path.t3, path.heartbeat, path.rtt_probe) = (Time::MAX, None, None);
            (path.timeouts_in_a_row, path.rto_estimate, path.idle_since) = (0, initial, now);
            path.delivery_rate = DeliveryRate::default();
            path.dormant = false;
            path.verification = Verification::default();
            view.state =
                if path.tuple == proven { PathState::Active } else { PathState::Unconfirmed };
        }
        for p in self.paths.ids() {
            self.paths.reset_mtu(p, &self.config);
        }
        self.paths.refresh_usable();
        if let Some(path) = self.add_path(now, proven, true) {
            self.prefer_path(path);
        }
    }

    /// The peer asks for another COOKIE ACK although its packets must be protected: it gets one
    /// where it is known to be.
    pub(crate) fn acknowledge_cookie_again(&mut self, source: FourTuple) {
        let known = self.paths.by_tuple(&source).filter(|p| self.paths.is_confirmed(*p));
        if let Some(path) = known.filter(|_| self.state.sends_heartbeats()) {
            self.control.clear_kind(kind::COOKIE_ACK);
            self.send_control(path, &Chunk::CookieAck, Bundling::First);
        }
    }

    /// Queues COOKIE ACK to where the COOKIE ECHO came from (RFC 9260 section 6.4): the path of the
    /// INIT ACK may be dead by now, and a NAT may have hidden where the peer is. An address that is
    /// not confirmed yet gets it only together with the HEARTBEAT that confirms it (section 5.4).
    pub(crate) fn acknowledge_cookie(&mut self, now: Time, source: FourTuple) {
        let arrival =
            self.arrival_path(now, source).filter(|p| self.paths.may_probe(*p, &self.config));
        if arrival.is_none() && self.paths.by_tuple(&source).is_none() && source.remote.port() != 0
        {
            let (mut bytes, path) = (Vec::new(), self.paths.preferred());
            Chunk::CookieAck.encode(&mut bytes);
            let to = Some(Box::new(source));
            return self.control.push(ControlChunk { path, bytes, bundling: Bundling::Alone, to });
        }
        let path = arrival.unwrap_or_else(|| self.paths.preferred());
        let unconfirmed =
            self.paths.view(path).is_some_and(|view| view.state == PathState::Unconfirmed);
        // Late in a shutdown there are no heartbeats any more.
        let path = if unconfirmed && !self.state.sends_heartbeats() {
            self.paths.preferred()
        } else {
            path
        };
        self.send_control(path, &Chunk::CookieAck, Bundling::First);
        if unconfirmed && self.state.sends_heartbeats() {
            self.send_heartbeat_bundled(now, path, Bundling::Free);
        }
    }
}
