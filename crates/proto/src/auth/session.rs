//! The authentication of one association: what both sides said, and the keys that follow from it.

use core::fmt;

use polypath_wire::chunk::kind;
use polypath_wire::{AuthChunk, EncodeChunk as _};

use super::keys::{KeyStore, Session};
use super::offer::{AuthOffer, ChunkSet, RANDOM_LEN};
use super::watch::KeyWatch;
use crate::config::{AuthConfig, HmacAlgorithm};

/// The authentication of one association.
#[derive(Debug)]
pub(crate) struct Auth {
    ours: AuthOffer,
    /// What needs the peer's parameters.
    agreed: Option<Agreed>,
    keys: KeyStore,
    /// The key that the peer used last.
    peer_key: u16,
    /// Whether the peer has the key that we use.
    pub(crate) watch: KeyWatch,
}

/// What follows from the parameters of both sides.
#[derive(Debug)]
struct Agreed {
    session: Session,
    /// Chunk types that the peer wants authenticated.
    demanded: ChunkSet,
    /// Chunk types that we want authenticated.
    required: ChunkSet,
    /// What we send is authenticated with this.
    sending: HmacAlgorithm,
}

/// Why an AUTH chunk proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthFault {
    /// The HMAC is not one that we offered: this is reported.
    UnsupportedHmac(u16),
    /// Unknown key, HMAC of a wrong length, or a wrong one: nothing is said.
    Forged,
}

impl Auth {
    pub(crate) fn new(ours: AuthOffer, config: &AuthConfig) -> Self {
        let (keys, watch) = (KeyStore::new(config), KeyWatch::default());
        Self { ours, agreed: None, keys, peer_key: 0, watch }
    }

    /// The peer's parameters became known, or are others now. `extra` are chunk types that both sides want authenticated
    /// whatever they listed.
    pub(crate) fn agree(&mut self, peer: &AuthOffer, extra: &[u8]) {
        let Some(sending) = peer.preferred_hmac() else { return };
        let (mut demanded, mut required) = (peer.required(), self.ours.required());
        extra.iter().for_each(|kind| {
            demanded.insert(*kind);
            required.insert(*kind);
        });
        self.watch = KeyWatch::default();
        let session = Session::new(&self.ours, peer);
        self.keys.forget_sessions();
        self.agreed = Some(Agreed { session, demanded, required, sending });
    }

    /// There is no peer, or none that authenticates.
    pub(crate) fn disagree(&mut self) {
        self.agreed = None;
    }

    /// A new association takes the place of the old one: another random number, the same keys.
    pub(crate) fn restart(&mut self, random: [u8; RANDOM_LEN]) {
        self.ours.random = random;
        self.agreed = None;
    }

    pub(crate) const fn ours(&self) -> &AuthOffer {
        &self.ours
    }

    pub(crate) const fn keys_mut(&mut self) -> &mut KeyStore {
        &mut self.keys
    }

    /// Whether both sides authenticate.
    pub(crate) const fn is_on(&self) -> bool {
        self.agreed.is_some()
    }

    /// Whether we accept chunks of this type only behind an AUTH chunk.
    #[inline]
    pub(crate) fn requires(&self, kind: u8) -> bool {
        self.agreed.as_ref().is_some_and(|a| a.required.contains(kind))
    }

    /// Whether the peer accepts chunks of this type only behind an AUTH chunk.
    pub(crate) fn demands(&self, kind: u8) -> bool {
        self.agreed.as_ref().is_some_and(|a| a.demanded.contains(kind))
    }

    /// Whether nothing that we send is ever acknowledged unless both have the same key: data or its acknowledgements need it.
    pub(crate) fn covers_data(&self) -> bool {
        let either = |kinds: [u8; 2], asked: fn(&Self, u8) -> bool| {
            kinds.into_iter().any(|kind| asked(self, kind))
        };
        either([kind::DATA, kind::I_DATA], Self::demands)
            || either([kind::SACK, kind::NR_SACK], Self::requires)
    }

    /// Bytes of an AUTH chunk of ours, if the peer ever wants one.
    pub(crate) fn overhead(&self) -> usize {
        let wanted = self.agreed.as_ref().filter(|a| !a.demanded.is_empty());
        wanted.map_or(0, |a| AuthChunk::HMAC_OFFSET + a.sending.len())
    }

    /// Judges a received AUTH chunk: `covered` is it and all behind it, as they came. Gives its key's id, if that is another one
    /// than before.
    pub(crate) fn verify(
        &mut self,
        chunk: &AuthChunk<'_>,
        covered: &[u8],
    ) -> Result<Option<u16>, AuthFault> {
        let Some(agreed) = &self.agreed else { return Err(AuthFault::Forged) };
        let unsupported = AuthFault::UnsupportedHmac(chunk.hmac_id);
        if !self.ours.hmacs.contains(&chunk.hmac_id) {
            return Err(unsupported);
        }
        let algorithm = HmacAlgorithm::from_id(chunk.hmac_id).ok_or(unsupported)?;
        let key = self.keys.keyed(chunk.key_id, algorithm, &agreed.session);
        let mut mac = key.ok_or(AuthFault::Forged)?;
        let len = algorithm.len();
        if chunk.hmac.len() != len {
            return Err(AuthFault::Forged);
        }
        // The HMAC is computed with zeros in its own place (RFC 4895 section 6.2).
        let (head, rest) =
            covered.split_at_checked(AuthChunk::HMAC_OFFSET).ok_or(AuthFault::Forged)?;
        mac.update(head);
        mac.update(zeros(len));
        mac.update(rest.get(len..).unwrap_or_default());
        if !mac.verify(chunk.hmac) {
            return Err(AuthFault::Forged);
        }
        let other = self.peer_key != chunk.key_id;
        self.peer_key = chunk.key_id;
        Ok(other.then_some(chunk.key_id))
    }

    /// The AUTH chunk of a packet of ours, its HMAC still zeros.
    pub(crate) fn blank(&self) -> Option<Vec<u8>> {
        let agreed = self.agreed.as_ref()?;
        let chunk = AuthChunk {
            key_id: self.keys.active(),
            hmac_id: agreed.sending.id(),
            hmac: zeros(agreed.sending.len()),
        };
        let mut bytes = Vec::with_capacity(40);
        chunk.encode(&mut bytes);
        Some(bytes)
    }

    /// Fills the HMAC in: `covered` begins with the blank chunk and ends with the packet.
    pub(crate) fn sign(&mut self, covered: &mut [u8]) {
        let Some(agreed) = &self.agreed else { return };
        let active = self.keys.active();
        let Some(mut mac) = self.keys.keyed(active, agreed.sending, &agreed.session) else {
            return;
        };
        mac.update(covered);
        let tag = mac.finish();
        let place = AuthChunk::HMAC_OFFSET..AuthChunk::HMAC_OFFSET + tag.len();
        if let Some(place) = covered.get_mut(place) {
            place.copy_from_slice(&tag);
        }
    }
}

fn zeros(len: usize) -> &'static [u8] {
    const ZEROS: [u8; 32] = [0; 32];
    ZEROS.get(..len).unwrap_or(&ZEROS)
}

impl fmt::Display for AuthFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedHmac(id) => write!(f, "HMAC {id} was not offered"),
            Self::Forged => f.write_str("unknown key or wrong HMAC"),
        }
    }
}
