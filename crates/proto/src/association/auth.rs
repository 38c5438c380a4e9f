//! Authenticated chunks (RFC 4895): what a received chunk must prove, and the AUTH chunk of packets
//! on their way out.

use polypath_wire::chunk::kind;
use polypath_wire::{ErrorCause, PacketView, PacketWriter, RawChunk};

use super::packet_state::PacketState;
use super::{Association, LocalSide};
use crate::auth::{
    ADDRESS_CHUNKS, Auth, AuthFault, AuthKeyError, AuthOffer, Gate, KeyWatch, Proof, judge_auth,
};
use crate::config::{AssocConfig, AuthKey};
use crate::event::{AuthNotice, Event};
use crate::handshake::{Extensions, PeerAuth, PeerInit};
use crate::ids::PathId;

impl Association {
    /// The authentication of an association whose side of the handshake is `local`.
    pub(super) fn new_auth(config: &AssocConfig, local: &LocalSide) -> Option<Box<Auth>> {
        let ours = AuthOffer::ours(config, **local.random.as_ref()?);
        Some(Box::new(Auth::new(ours, &config.auth)))
    }

    /// The association begins anew with another random number.
    pub(super) fn restart_auth(&mut self) {
        match (&self.local.random, &mut self.auth) {
            (Some(random), Some(auth)) => auth.restart(**random),
            _ => self.auth = Self::new_auth(&self.config, &self.local),
        }
    }

    /// Takes over what the peer says of authentication. What needs it is off without it.
    pub(super) fn adopt_auth(&mut self, peer: &PeerInit) {
        let agreed = &mut self.caps.agreed;
        if let Some(auth) = &mut self.auth {
            let extra: &[u8] = if agreed.dynamic_addresses { &ADDRESS_CHUNKS } else { &[] };
            match &peer.auth {
                PeerAuth::Offer(offer) if agreed.authentication => auth.agree(offer, extra),
                _ => auth.disagree(),
            }
        }
        let on = self.auth.as_ref().is_some_and(|auth| auth.is_on());
        agreed.authentication &= on;
        agreed.dynamic_addresses &= on || self.protection.is_some();
        self.paths.reserved = self.data_reserve() as u32;
    }

    /// Tells the application if it wanted authentication and gets none.
    pub(super) fn announce_auth(&mut self) {
        if Extensions::of(&self.config).authentication && !self.caps.agreed.authentication {
            self.events.push_back(Event::Authentication(AuthNotice::NotSupported));
        }
    }

    /// Whether [`gate`](Self::gate) lets chunks of this type pass without a look at the packet:
    /// most do.
    #[inline]
    pub(super) fn needs_no_proof(&self, kind: u8) -> bool {
        kind != kind::AUTH && !self.auth.as_ref().is_some_and(|auth| auth.requires(kind))
    }

    /// Whether a received chunk may be looked at (RFC 4895 section 6.3).
    pub(super) fn gate(
        &mut self,
        path: Option<PathId>,
        packet: &PacketView<'_>,
        raw: &RawChunk<'_>,
        seen: &mut PacketState<'_>,
    ) -> Gate {
        if !self.auth.as_ref().is_some_and(|auth| auth.is_on()) {
            return Gate::Pass;
        }
        let PacketState { proof, answered, .. } = seen;
        if raw.kind == kind::AUTH {
            return self.on_auth(path, packet, raw, proof, answered);
        }
        let required = self.auth.as_ref().is_some_and(|auth| auth.requires(raw.kind));
        if !required || *proof == Proof::Given {
            return Gate::Pass;
        }
        // The COOKIE ECHO itself was judged before.
        if raw.kind == kind::COOKIE_ECHO {
            return Gate::Pass;
        }
        self.stats.unauthenticated_chunks += 1;
        // RFC 5061 section 5.2, rule D5: and the rest of the packet.
        if ADDRESS_CHUNKS.contains(&raw.kind) { Gate::Stop } else { Gate::Skip }
    }

    fn on_auth(
        &mut self,
        path: Option<PathId>,
        packet: &PacketView<'_>,
        raw: &RawChunk<'_>,
        proof: &mut Proof,
        answered: &mut bool,
    ) -> Gate {
        match *proof {
            Proof::Before => {
                *proof = Proof::Given;
                return Gate::Skip;
            }
            // One per packet (section 5.1).
            Proof::Given => return Gate::Stop,
            Proof::None | Proof::Sealed => {}
        }
        match self.verify_auth(packet, raw) {
            Ok(new_key) => {
                *proof = Proof::Given;
                if let Some(id) = new_key {
                    self.events.push_back(Event::Authentication(AuthNotice::NewKey(id)));
                }
                return Gate::Skip;
            }
            Err(AuthFault::UnsupportedHmac(id)) => {
                if let Some(path) = path.filter(|_| !*answered) {
                    *answered = true;
                    self.send_error(path, &ErrorCause::UnsupportedHmac(id));
                }
            }
            Err(AuthFault::Forged) => {}
        }
        self.stats.auth_failures += 1;
        Gate::Stop
    }

    /// Judges an AUTH chunk of a packet. Gives the id of its key if that is new.
    pub(crate) fn verify_auth(
        &mut self,
        packet: &PacketView<'_>,
        raw: &RawChunk<'_>,
    ) -> Result<Option<u16>, AuthFault> {
        let auth = self.auth.as_mut().ok_or(AuthFault::Forged)?;
        judge_auth(auth, packet, raw)
    }

    /// Bytes that an AUTH chunk, or protection, may take of any packet of control chunks.
    #[inline]
    pub(super) fn auth_reserve(&self) -> usize {
        self.auth.as_ref().map_or_else(|| self.protection_reserve(), |auth| auth.overhead())
    }

    /// Bytes that an AUTH chunk, or protection, may take of packets with DATA.
    #[inline]
    pub(super) fn data_reserve(&self) -> usize {
        self.auth.as_ref().map_or_else(|| self.protection_reserve(), |auth| auth.data_overhead())
    }

    /// Puts an AUTH chunk in front of the first chunk that the peer wants authenticated, and so of
    /// all behind it (section 6.2). The caller has kept the room for it.
    #[inline]
    pub(super) fn authenticate(&mut self, writer: &mut PacketWriter<'_>) {
        if let Some(auth) = self.auth.as_mut().filter(|auth| auth.is_on()) {
            auth.authenticate(writer);
        }
    }

    /// Data was acknowledged: the peer has the key.
    #[inline]
    pub(super) fn prove_key(&mut self) {
        if let Some(auth) = &mut self.auth {
            auth.watch = KeyWatch::Proven;
        }
    }

    /// Data was given up somewhere, perhaps because the peer has another key: then what is lost
    /// tells nothing of paths, and the application hears of it. Gives whether that is what it looks
    /// like.
    pub(super) fn doubts_key_after_loss(&mut self) -> bool {
        let Some(auth) = self.auth.as_mut().filter(|auth| auth.covers_data()) else { return false };
        if auth.watch.data_given_up() {
            self.events.push_back(Event::Authentication(AuthNotice::NothingAcknowledged));
        }
        self.is_key_doubted()
    }

    /// A heartbeat was answered. Gives whether it clears what is counted and backed off: not while
    /// the peer takes no data (section 8.1 of RFC 9260 leaves that to us), or the two would go on
    /// like this for ever.
    pub(super) fn heartbeat_clears(&mut self) -> bool {
        let Some(auth) = &mut self.auth else { return true };
        auth.watch.heartbeat_answered();
        auth.watch != KeyWatch::Doubted
    }

    /// Whether the peer may have another key: nothing was acknowledged yet that needs it.
    pub(super) fn may_differ_in_key(&self) -> bool {
        let untold = |auth: &Auth| auth.covers_data() && auth.watch != KeyWatch::Proven;
        self.auth.as_deref().is_some_and(untold)
    }

    /// Whether it seems that the peer has another key.
    pub(super) fn is_key_doubted(&self) -> bool {
        self.auth.as_ref().is_some_and(|auth| auth.watch == KeyWatch::Doubted)
    }

    /// Adds a shared key, or replaces the one with that id. Another key for sending:
    /// [`activate`](Self::activate_auth_key) it, once the peer has it, too.
    ///
    /// # Errors
    /// [`AuthKeyError::Off`] if authentication was not switched on.
    pub fn set_auth_key(&mut self, id: u16, secret: &[u8]) -> Result<(), AuthKeyError> {
        let auth = self.auth.as_mut().ok_or(AuthKeyError::Off)?;
        auth.keys_mut().set(AuthKey { id, secret: secret.to_vec() });
        auth.watch = KeyWatch::default();
        Ok(())
    }

    /// Authenticates what is sent from now on, retransmissions included, with this key.
    ///
    /// # Errors
    /// If there is no such key, or it was deactivated.
    pub fn activate_auth_key(&mut self, id: u16) -> Result<(), AuthKeyError> {
        let auth = self.auth.as_mut().ok_or(AuthKeyError::Off)?;
        auth.keys_mut().activate(id)?;
        auth.watch = KeyWatch::default();
        Ok(())
    }

    /// Sends nothing with this key any more, whatever happens; what the peer still sends with it is
    /// good. Since each packet is authenticated when it leaves, the key is free at once
    /// ([`AuthNotice::KeyFree`]).
    ///
    /// # Errors
    /// If there is no such key, or it is the active one.
    pub fn deactivate_auth_key(&mut self, id: u16) -> Result<(), AuthKeyError> {
        self.auth.as_mut().ok_or(AuthKeyError::Off)?.keys_mut().deactivate(id)?;
        self.events.push_back(Event::Authentication(AuthNotice::KeyFree(id)));
        Ok(())
    }

    /// Forgets a key: what the peer still sends with it is dropped.
    ///
    /// # Errors
    /// If there is no such key, or it is the active one.
    pub fn delete_auth_key(&mut self, id: u16) -> Result<(), AuthKeyError> {
        self.auth.as_mut().ok_or(AuthKeyError::Off)?.keys_mut().delete(id)
    }
}
