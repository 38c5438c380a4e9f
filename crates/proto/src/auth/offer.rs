//! What INIT and INIT ACK say of authentication: RANDOM, CHUNKS and HMAC-ALGO (RFC 4895 sections 3
//! and 6.1).

use polypath_wire::chunk::kind;
use polypath_wire::param::kind as param_kind;
use polypath_wire::{ItemsBuf, Parameter, ParamsBuf};

use crate::config::{AssocConfig, HmacAlgorithm, NrSack};

/// Bytes of a RANDOM parameter's value: no others are allowed.
pub(crate) const RANDOM_LEN: usize = 32;

/// The three parameters of one side. What both sides said goes into the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthOffer {
    pub(crate) random: [u8; RANDOM_LEN],
    /// Chunk types that the side accepts authenticated only, as it listed them; `None`: no such
    /// parameter.
    pub(crate) chunks: Option<Vec<u8>>,
    /// HMAC identifiers, the best first.
    pub(crate) hmacs: Vec<u16>,
}

impl AuthOffer {
    /// What we say.
    pub(crate) fn ours(config: &AssocConfig, random: [u8; RANDOM_LEN]) -> Self {
        let mut chunks = config.auth.chunks.clone();
        if config.extensions.dynamic_addresses {
            // RFC 5061 section 4.1: neither may go without. Heartbeats tell where the peer is, as
            // they do.
            chunks.extend([kind::ASCONF, kind::ASCONF_ACK, kind::HEARTBEAT, kind::HEARTBEAT_ACK]);
        }
        add_other_forms(&mut chunks, config);
        chunks.retain(|kind| may_be_required(*kind));
        chunks.sort_unstable();
        chunks.dedup();
        let mut hmacs: Vec<u16> = Vec::new();
        for id in config.auth.hmacs.iter().chain([&HmacAlgorithm::Sha1]).map(|h| h.id()) {
            if !hmacs.contains(&id) {
                hmacs.push(id);
            }
        }
        Self { random, chunks: (!chunks.is_empty()).then_some(chunks), hmacs }
    }

    /// Appends the parameters.
    pub(crate) fn push_to(&self, params: &mut ParamsBuf) {
        params.push(&Parameter::Random(&self.random));
        if let Some(chunks) = &self.chunks {
            params.push(&Parameter::ChunkList(chunks));
        }
        let hmacs: ItemsBuf<u16, 2> = self.hmacs.iter().copied().collect();
        params.push(&Parameter::HmacAlgorithms(hmacs.as_items()));
    }

    /// The key vector: the parameters with their headers, without padding.
    pub(super) fn vector(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        push(&mut out, param_kind::RANDOM, &self.random);
        if let Some(chunks) = &self.chunks {
            push(&mut out, param_kind::CHUNK_LIST, chunks);
        }
        let hmacs: Vec<u8> = self.hmacs.iter().flat_map(|id| id.to_be_bytes()).collect();
        push(&mut out, param_kind::HMAC_ALGORITHMS, &hmacs);
        out
    }

    /// The HMAC to use towards this side: the first that it lists and we know.
    pub(crate) fn preferred_hmac(&self) -> Option<HmacAlgorithm> {
        self.hmacs.iter().find_map(|id| HmacAlgorithm::from_id(*id))
    }

    /// The chunk types that must be authenticated towards this side.
    pub(super) fn required(&self) -> ChunkSet {
        let mut set = ChunkSet::default();
        let listed = self.chunks.iter().flatten().copied();
        // Those that cannot be authenticated are ignored in a peer's list (RFC 4895 section 3.2).
        listed.filter(|kind| may_be_required(*kind)).for_each(|kind| set.insert(kind));
        set
    }
}

/// Who wants data authenticated wants it in whichever chunks it comes: an extension must not open a
/// way around.
fn add_other_forms(chunks: &mut Vec<u8>, config: &AssocConfig) {
    let interleaving = config.extensions.interleaving;
    let forms = [
        (interleaving, kind::DATA, kind::I_DATA),
        (interleaving, kind::FORWARD_TSN, kind::I_FORWARD_TSN),
        (config.cmt.nr_sack != NrSack::Off, kind::SACK, kind::NR_SACK),
    ];
    for (_, one, other) in forms.into_iter().filter(|(offered, ..)| *offered) {
        match (chunks.contains(&one), chunks.contains(&other)) {
            (true, false) => chunks.push(other),
            (false, true) => chunks.push(one),
            _ => {}
        }
    }
}

const fn may_be_required(kind: u8) -> bool {
    !matches!(kind, kind::INIT | kind::INIT_ACK | kind::SHUTDOWN_COMPLETE | kind::AUTH)
}

fn push(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let len = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(value);
}

/// A set of chunk types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkSet([u64; 4]);

impl ChunkSet {
    pub(crate) fn insert(&mut self, kind: u8) {
        let [word, bit] = [usize::from(kind / 64), usize::from(kind % 64)];
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    #[inline]
    pub(crate) fn contains(&self, kind: u8) -> bool {
        self.0.get(usize::from(kind / 64)).is_some_and(|word| word >> (kind % 64) & 1 != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
