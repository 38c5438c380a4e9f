//! CRC32c, the checksum of SCTP packets (RFC 9260 section 6.8 and appendix A).

use crc_fast::{CrcAlgorithm, Digest};

use crate::COMMON_HEADER_LEN;

/// Offset of the checksum field in a packet.
const FIELD: usize = 8;

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

/// The CRC32c of a packet with its checksum field taken as zero, whatever is in it.
#[must_use]
pub fn packet_checksum(packet: &[u8]) -> u32 {
    let (Some(before), Some(after)) = (packet.get(..FIELD), packet.get(COMMON_HEADER_LEN..)) else {
        return crc32c(packet);
    };
    let mut crc = Crc32c::new();
    crc.update(before);
    crc.update(&[0; COMMON_HEADER_LEN - FIELD]);
    crc.update(after);
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
