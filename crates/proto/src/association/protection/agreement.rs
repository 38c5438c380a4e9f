//! What both ends agree on, and what follows once they have keys.

use crate::association::{Association, LocalSide};
use crate::extension::protection::ProtectionState;
use crate::handshake::{KeyFault, KeyOffer, Roles, agree_on_keys};
use crate::ids::PathId;
use crate::path::Verification;
use crate::protection::{Agreed, OVERHEAD, Role};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::view::PathState;

impl Association {
    /// We open: what our INIT offers. Messages wait until there are keys.
    pub(in crate::association) fn offer_protection(&mut self) {
        let Some(keys) = self.config.protection.clone() else { return };
        let tie_breaker = self.rng.with(Rng::next_u32);
        let offer = KeyOffer::ours(&*keys, tie_breaker, Roles::Both);
        self.await_keys(offer);
    }

    /// Nothing of the application leaves before there are keys.
    pub(in crate::association) fn await_keys(&mut self, offer: KeyOffer) {
        self.tx.queue.hold_for_keys();
        self.paths.reserved = OVERHEAD as u32;
        self.paths.in_records = true;
        self.protection = Some(Box::new(ProtectionState::new(offer)));
    }

    /// What our INIT or INIT ACK said of protection.
    pub(crate) fn own_key_offer(&self) -> Option<&KeyOffer> {
        self.protection.as_ref().map(|state| &state.offer)
    }

    /// The peer has said what it can do, in INIT, INIT ACK or our cookie: keys can be agreed on.
    pub(in crate::association) fn agree_on_protection(
        &mut self,
        now: Time,
        peer: Option<&KeyOffer>,
    ) -> Result<(), KeyFault> {
        let Some(management) = self.config.protection.clone() else { return Ok(()) };
        let Some(state) = self.protection.as_mut() else { return Ok(()) };
        let peer = peer.ok_or(KeyFault::Missing)?;
        let (role, method) = agree_on_keys(&state.offer, peer)?;
        let offers = match role {
            Role::Client => [state.offer.bytes(), peer.bytes()],
            Role::Server => [peer.bytes(), state.offer.bytes()],
        };
        let agreed = Agreed {
            method,
            role,
            parameters: offers.map(<[u8]>::to_vec),
            session: session(&self.local, self.peer.tag, self.peer.initial_tsn.0, role),
            seed: self.rng.with(Rng::bytes32),
        };
        state.keys = Some(management.protect(now, &agreed));
        Ok(())
    }

    /// The association is set up: what it took until then is none of the exchange's time.
    pub(in crate::association) fn start_key_exchange(&mut self, now: Time) {
        if let Some(keys) = self.protection.as_mut().and_then(|state| state.keys.as_mut()) {
            keys.association_is_up(now);
        }
    }

    /// The peer's handshake takes the place of ours: so does what was said in it. `offer` is what
    /// our INIT ACK said.
    pub(in crate::association) fn agree_anew(
        &mut self,
        now: Time,
        offer: Option<&KeyOffer>,
        peer: Option<&KeyOffer>,
    ) -> Result<(), KeyFault> {
        let (Some(state), Some(offer)) = (self.protection.as_mut(), offer) else {
            return if self.protection.is_some() { Err(KeyFault::Missing) } else { Ok(()) };
        };
        **state = ProtectionState::new(offer.clone());
        self.agree_on_protection(now, peer)
    }

    /// Both ends have keys and use them: only now the application hears of the association, and its
    /// data may flow.
    pub(super) fn protection_established(&mut self, now: Time) {
        let Some(state) = self.protection.as_mut().filter(|state| !state.established) else {
            return;
        };
        state.established = true;
        (state.first, state.first_message) = (Vec::new(), None);
        self.rx.set_partial_delivery(self.config.partial_delivery);
        self.tx.queue.release(&[], &mut *self.policies.stream_scheduler);
        // What went so far was set-up, and tells nothing of how much a path carries.
        for view in &mut self.paths.views {
            (view.last_data, view.data_packets) = (Time::ZERO, 0);
        }
        self.doubt_unproven_paths();
        for p in self.paths.ids() {
            self.start_heartbeats(now, p);
        }
        self.prove_keys();
        self.send_held_answers();
        // What was acknowledged in plain since the peer has its keys, it did not believe.
        if self.rx.stats().chunks > 0 {
            self.rx.request_sack();
        }
        self.settle(now);
        self.shrink_after_exchange();
    }

    /// We opened, and have keys without having said anything for it: the peer knows that we have
    /// them once something comes that was protected with them.
    fn prove_keys(&mut self) {
        if self.setup.opened && !self.tx.queue.had_key_messages() {
            self.ask_all_paths();
        }
    }

    /// The addresses of INIT and INIT ACK came in plain: they are proven anew, by a protected
    /// HEARTBEAT. Not those that our user named, nor where the key exchange went.
    fn doubt_unproven_paths(&mut self) {
        if self.setup.opened {
            return;
        }
        let carried = self.setup.path;
        for p in self.paths.ids() {
            let Some((view, path)) = self.paths.both_mut(p) else { continue };
            if p != carried && view.state == PathState::Active {
                view.state = PathState::Unconfirmed;
                path.verification = Verification::default();
            }
        }
        self.paths.refresh_usable();
    }

    /// The longest RTO of all paths, not backed off: for the sake of one that has died, keys would
    /// be kept until others are used up.
    pub(super) fn longest_rto(&self) -> Duration {
        let known = self.paths.iter().filter(|(view, _)| view.state != PathState::Removed);
        let estimates = known.map(|(_, path)| path.rto_estimate);
        estimates.max().unwrap_or(self.config.rto.initial)
    }

    /// A path is gone.
    pub(in crate::association) fn forget_keys_of_path(&mut self, p: PathId) {
        if let Some(keys) = self.protection.as_mut().and_then(|state| state.keys.as_mut()) {
            keys.forget_path(p);
        }
    }
}

/// What distinguishes the association: tags and initial TSNs, the client's first.
fn session(local: &LocalSide, peer_tag: u32, peer_tsn: u32, role: Role) -> [u8; 16] {
    let (own, other) = ((local.tag, local.initial_tsn.0), (peer_tag, peer_tsn));
    let (client, server) = if role == Role::Client { (own, other) } else { (other, own) };
    let words = [client.0, server.0, client.1, server.1];
    let mut out = [0; 16];
    for (four, word) in out.chunks_exact_mut(4).zip(words) {
        four.copy_from_slice(&word.to_be_bytes());
    }
    out
}
