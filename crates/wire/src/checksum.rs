//! CRC32c, the checksum of SCTP packets (RFC 9260 section 6.8 and appendix A).

use crc_fast::{CrcAlgorithm, Digest};

use crate::COMMON_HEADER_LEN;

/// The CRC32c of `bytes`. A packet carries it least significant byte first.
///
/// ```
/// let crc = polypath_wire::checksum::crc32c(b"123456789");
/// assert_eq!(crc, 0xe306_9283);
/// assert_eq!(crc.to_le_bytes(), [0x83, 0x92, 0x06, 0xe3]);
/// ```
#[inline]
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The CRC32c of a packet with its checksum field taken as zero, whatever is in it. Bytes
/// too few for a common header have no such field and count as they are.
#[must_use]
pub fn packet_checksum(packet: &[u8]) -> u32 {
    let Some(([h0, h1, h2, h3, h4, h5, h6, h7, _, _, _, _], rest)) =
        packet.split_first_chunk::<COMMON_HEADER_LEN>()
    else {
        return crc32c(packet);
    };
    let mut crc = Crc32c::new();
    crc.update(&[*h0, *h1, *h2, *h3, *h4, *h5, *h6, *h7, 0, 0, 0, 0]);
    crc.update(rest);
    crc.finish()
}

/// The CRC32c of packet after packet, as [`packet_checksum`] gives it. The packets of an
/// association begin with the same ports and tag: what these contribute is kept from packet to
/// packet.
#[derive(Clone, Debug, Default)]
pub struct PacketChecksum {
    /// Ports and tag of the latest packet, and the state behind its common header, its checksum
    /// field taken as zero.
    latest: Option<([u8; 8], u64)>,
}

impl PacketChecksum {
    /// The CRC32c of `packet` with its checksum field taken as zero.
    #[inline]
    pub fn compute_crc32c(&mut self, packet: &[u8]) -> u32 {
        let Some((header, rest)) = packet.split_first_chunk::<COMMON_HEADER_LEN>() else {
            return crc32c(packet);
        };
        let [start @ .., _, _, _, _] = *header;
        let state = match self.latest {
            Some((latest, state)) if latest == start => state,
            _ => self.begin_with(start),
        };
        let mut crc = Crc32c(Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, state));
        crc.update(rest);
        crc.finish()
    }

    #[inline(never)]
    fn begin_with(&mut self, start: [u8; 8]) -> u64 {
        let [h0, h1, h2, h3, h4, h5, h6, h7] = start;
        let mut crc = Crc32c::new();
        crc.update(&[h0, h1, h2, h3, h4, h5, h6, h7, 0, 0, 0, 0]);
        let state = crc.0.get_state();
        self.latest = Some((start, state));
        state
    }
}

/// CRC32c of bytes that come in pieces.
#[derive(Clone, Debug)]
pub struct Crc32c(Digest);

impl Crc32c {
    /// The checksum of nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Self(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of everything added.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a CRC-32 has 32 bits")]
    pub fn finish(&self) -> u32 {
        self.0.finalize() as u32
    }
}

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bit by bit, after the reflected generator polynomial of RFC 9260 appendix A.
    fn model(bytes: &[u8]) -> u32 {
        let step = |crc: u32| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
        let add = |crc, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
        !bytes.iter().fold(u32::MAX, add)
    }

    #[test]
    fn check_value() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b"123456789").to_le_bytes(), [0x83, 0x92, 0x06, 0xe3]);
    }

    proptest! {
        #[test]
        fn whole_pieces_and_model_agree(bytes: Vec<u8>, cut: prop::sample::Index) {
            let (head, tail) = bytes.split_at(cut.index(bytes.len() + 1));
            let mut pieces = Crc32c::new();
            pieces.update(head);
            pieces.update(tail);
            prop_assert_eq!(crc32c(&bytes), model(&bytes));
            prop_assert_eq!(pieces.finish(), model(&bytes));
        }

        #[test]
        fn the_field_counts_as_zero(mut packet in prop::collection::vec(any::<u8>(), 12..2000)) {
            let found = packet_checksum(&packet);
            packet[8..12].fill(0);
            prop_assert_eq!(found, crc32c(&packet));
        }

        #[test]
        fn one_packet_after_another(
            starts in prop::collection::vec(0..3_u8, 1..20),
            rest in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut checksum = PacketChecksum::default();
            for (i, start) in starts.into_iter().enumerate() {
                // Every byte of the common header differs now and then, the field always.
                let mut packet = [start; 12].to_vec();
                packet[8] = i as u8;
                packet.extend(rest.iter().skip(i));
                prop_assert_eq!(checksum.compute_crc32c(&packet), packet_checksum(&packet));
                prop_assert_eq!(checksum.compute_crc32c(&packet[..11]), packet_checksum(&packet[..11]));
            }
        }
    }
}
