//! Packets from strangers, and from somebody on the path.

use bytes::Bytes;
use polypath_proto::rng::Rng;

use crate::packet::reseal_checksum;
use crate::world::{LogEntry, flip_bits};

/// Where the packets of a flood come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flood {
    /// Random bytes.
    Noise,
    /// Packets that were sent before, sent again.
    Replay,
    /// Packets with a bit flipped, the checksum made right and another verification tag: blind
    /// attacks.
    Blind,
    /// Packets cut off somewhere, the checksum made right.
    Truncated,
    /// Packets with bits flipped and the checksum made right. Nothing protects from that but the
    /// end of the script.
    Forged,
}

impl Flood {
    pub(super) const ALL: [Self; 5] =
        [Self::Noise, Self::Replay, Self::Blind, Self::Truncated, Self::Forged];

    /// A packet of this kind, after one that was sent earlier if there was one.
    pub(super) fn forge_packet(self, model: Option<&LogEntry>, rng: &mut Rng) -> Bytes {
        let Some(model) = model.filter(|_| self != Self::Noise) else {
            return random_noise(rng);
        };
        let mut bytes = model.bytes.to_vec();
        match self {
            Self::Noise | Self::Replay => return model.bytes.clone(),
            Self::Blind => {
                flip_bits(&mut bytes, rng);
                set_tag(&mut bytes, rng);
            }
            Self::Truncated => bytes.truncate(12 + rng.below(bytes.len().saturating_sub(11))),
            Self::Forged => flip_bits(&mut bytes, rng),
        }
        reseal_checksum(&mut bytes);
        bytes.into()
    }
}

fn random_noise(rng: &mut Rng) -> Bytes {
    let len = rng.below(200);
    let mut bytes: Vec<u8> = core::iter::repeat_with(|| rng.next_u32() as u8).take(len).collect();
    if rng.below(2) == 0 {
        reseal_checksum(&mut bytes);
    }
    bytes.into()
}

/// A tag that is right once in four billion times. INITs have none to guess, but theirs must be 0.
fn set_tag(packet: &mut [u8], rng: &mut Rng) {
    let tag = rng.non_zero_u32().to_be_bytes();
    if let Some(field) = packet.get_mut(4..8) {
        field.copy_from_slice(&tag);
    }
}
