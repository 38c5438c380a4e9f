//! AUTH chunks of whole packets: judged on the way in, inserted on the way out.

use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, PacketView, PacketWriter, RawChunk};

use super::session::{Auth, AuthFault};
use crate::control::Encoded;

impl Auth {
    /// Bytes that an AUTH chunk may take of packets with DATA.
    #[inline(never)]
    pub(crate) fn data_overhead(&self) -> usize {
        let carried = [
            kind::DATA,
            kind::I_DATA,
            kind::SACK,
            kind::NR_SACK,
            kind::FORWARD_TSN,
            kind::I_FORWARD_TSN,
        ];
        if carried.iter().any(|kind| self.demands(*kind)) { self.overhead() } else { 0 }
    }

    /// Puts an AUTH chunk in front of the first chunk that the peer wants authenticated, and so of all
    /// behind it (section 6.2). The caller has kept the room for it.
    #[inline(never)]
    pub(crate) fn authenticate(&mut self, writer: &mut PacketWriter<'_>) {
        let Some(at) = first_demanded(writer.chunk_area(), self) else { return };
        let Some(blank) = self.blank() else { return };
        writer.insert(at, &Encoded(&blank));
        if let Some(covered) = writer.chunk_area_mut().get_mut(at..) {
            self.sign(covered);
        }
    }
}

/// Judges the AUTH chunk `raw` of `packet`.
pub(crate) fn judge_auth(
    auth: &mut Auth,
    packet: &PacketView<'_>,
    raw: &RawChunk<'_>,
) -> Result<Option<u16>, AuthFault> {
    let Ok(Chunk::Auth(chunk)) = raw.decode() else { return Err(AuthFault::Forged) };
    let covered = packet.bytes().get(raw.offset..).unwrap_or_default();
    auth.verify(&chunk, covered)
}

/// Where the first chunk starts that the peer wants authenticated. The chunks are our own, and whole.
fn first_demanded(area: &[u8], auth: &Auth) -> Option<usize> {
    let mut at = 0;
    while let Some([kind, _, l0, l1]) = area.get(at..at + 4) {
        if auth.demands(*kind) {
            return Some(at);
        }
        let len = usize::from(u16::from_be_bytes([*l0, *l1]));
        at += len.max(4).next_multiple_of(4);
    }
    None
}

#[cfg(test)]
mod tests {
    use polypath_wire::EncodeChunk as _;

    use super::super::offer::AuthOffer;
    use super::*;
    use crate::config::AssocConfig;

    #[test]
    fn encoded_chunks_are_walked_to_their_end() {
        let config = AssocConfig {
            auth: crate::config::AuthConfig { chunks: vec![7], ..Default::default() },
            ..AssocConfig::default()
        };
        let offer = AuthOffer::ours(&config, [1; 32]);
        let mut auth = Auth::new(offer.clone(), &config.auth);
        auth.agree(&offer, &[]);
        let area = [4, 0, 0, 5, 9, 0, 0, 0, 7, 0, 0, 4];
        assert_eq!(first_demanded(&area, &auth), Some(8));
        assert_eq!(first_demanded(&area[..8], &auth), None);
        assert_eq!(first_demanded(&[], &auth), None);
        assert_eq!(Encoded(&area).encoded_len(), 12);
    }
}
