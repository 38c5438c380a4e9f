//! Verification tags of packets for an association (RFC 9260 section 8.5).

use polypath_wire::chunk::kind;
use polypath_wire::{COMMON_HEADER_LEN, PacketView, RawChunk};

/// The T bit of ABORT and SHUTDOWN COMPLETE.
const REFLECTED: u8 = 1;

/// Whether the packet's tag is right for an association whose own tag is `own` and whose peer's is `peer` (0: unknown
/// yet), and its chunks, of which `first` is the first, may share a packet. INIT and COOKIE ECHO have rules of their own and do not come
/// here first.
#[inline]
pub(super) fn accepts(packet: &PacketView<'_>, first: &RawChunk<'_>, own: u32, peer: u32) -> bool {
    // Most packets have one chunk, and alone only two kinds have rules of their own.
    let behind = COMMON_HEADER_LEN + first.bytes().len().next_multiple_of(4);
    let alone = behind >= packet.bytes().len();
    if alone && !matches!(first.kind, kind::ABORT | kind::SHUTDOWN_COMPLETE) {
        return packet.header().verification_tag == own;
    }
    accepts_all(packet, own, peer)
}

#[inline(never)]
fn accepts_all(packet: &PacketView<'_>, own: u32, peer: u32) -> bool {
    let tag = packet.header().verification_tag;
    let mut chunks = 0;
    let mut lonely = false;
    for chunk in packet.chunks().map_while(Result::ok) {
        chunks += 1;
        let reflected = chunk.flags & REFLECTED != 0;
        match chunk.kind {
            // Whatever came before an ABORT with the T bit is not covered by its tag rule.
            kind::ABORT if reflected => return chunks == 1 && peer != 0 && tag == peer,
            kind::ABORT => return tag == own,
            kind::SHUTDOWN_COMPLETE if reflected => {
                return packet.chunks().count() == 1 && peer != 0 && tag == peer;
            }
            kind::INIT | kind::INIT_ACK | kind::SHUTDOWN_COMPLETE => lonely = true,
            _ => {}
        }
    }
    tag == own && (chunks == 1 || !lonely)
}

/// Whether the packet has a chunk of this type.
pub(super) fn has_chunk(packet: &PacketView<'_>, kind: u8) -> bool {
    packet.chunks().map_while(Result::ok).any(|chunk| chunk.kind == kind)
}

#[cfg(test)]
mod tests {
    use polypath_wire::{AbortChunk, CausesBuf, ChecksumCheck, ChecksumMode, Chunk, PacketWriter};

    use super::*;

    const OWN: u32 = 11;
    const PEER: u32 = 22;

    fn verdict(tag: u32, peer: u32, chunks: &[Chunk<'_>]) -> bool {
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, 1500, 1, 2, tag);
        chunks.iter().for_each(|c| writer.push(c).unwrap());
        writer.finish(ChecksumMode::Crc32c);
        let packet = PacketView::parse(&bytes, ChecksumCheck::Verify).unwrap();
        let first = packet.chunks().next().unwrap().unwrap();
        accepts(&packet, &first, OWN, peer)
    }

    #[test]
    fn normal_packets_carry_our_tag() {
        assert!(verdict(OWN, PEER, &[Chunk::CookieAck]));
        for tag in [0, PEER, 33] {
            assert!(!verdict(tag, PEER, &[Chunk::CookieAck]));
        }
    }

    #[test]
    fn the_t_bit_decides_whose_tag_an_abort_or_complete_carries() {
        let causes = CausesBuf::new();
        let abort = |reflected| Chunk::Abort(AbortChunk { reflected, causes: causes.as_causes() });
        let complete = |reflected| Chunk::ShutdownComplete { reflected };
        for (plain, reflected) in [(abort(false), abort(true)), (complete(false), complete(true))] {
            assert!(verdict(OWN, PEER, &[plain]));
            assert!(verdict(PEER, PEER, &[reflected]));
            assert!(!verdict(PEER, PEER, &[plain]));
            assert!(!verdict(OWN, PEER, &[reflected]));
            // A blind ABORT with tag 0 while the peer's tag is not known yet.
            assert!(!verdict(0, 0, &[reflected]));
        }
        assert!(verdict(OWN, PEER, &[Chunk::CookieAck, abort(false)]));
        assert!(!verdict(PEER, PEER, &[Chunk::CookieAck, abort(true)]));
    }

    #[test]
    fn some_chunks_travel_alone() {
        let complete = Chunk::ShutdownComplete { reflected: false };
        assert!(!verdict(OWN, PEER, &[complete, Chunk::CookieAck]));
        assert!(!verdict(OWN, PEER, &[Chunk::CookieAck, complete]));
    }
}
