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
    }
}
