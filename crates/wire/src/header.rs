//! The common header (RFC 9260 section 3.1).

use crate::reader::Reader;
use crate::{Item, WireError, WireErrorKind};

/// Length of the common header in bytes.
pub const COMMON_HEADER_LEN: usize = 12;

/// What every SCTP packet starts with.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------------------------------+-------------------------------+
/// |          source port          |       destination port        |
/// +-------------------------------+-------------------------------+
/// |                       verification tag                        |
/// +---------------------------------------------------------------+
/// |                      checksum (CRC32c)                        |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonHeader {
    /// The sender's SCTP port; never 0 in a checked packet.
    pub source_port: u16,
    /// The receiver's SCTP port; never 0 in a checked packet.
    pub destination_port: u16,
    /// The receiver's tag; 0 only in a packet with an INIT.
    pub verification_tag: u32,
    /// The CRC32c as [`crate::checksum::crc32c`] returns it, or 0 (RFC 9653).
    pub checksum: u32,
}

impl CommonHeader {
    pub(crate) fn from_packet(packet: &[u8]) -> Result<Self, WireError> {
        let Some((header, _)) = packet.split_first_chunk::<COMMON_HEADER_LEN>() else {
            let kind = WireErrorKind::Truncated {
                item: Item::CommonHeader,
                needed: COMMON_HEADER_LEN,
                left: packet.len(),
            };
            return Err(WireError { offset: 0, kind });
        };
        let mut reader = Reader::new(header, 0, Item::CommonHeader);
        let source_port = reader.read_u16()?;
        let destination_port = reader.read_u16()?;
        let verification_tag = reader.read_u32()?;
        // The CRC's reflected bits leave least significant byte first (RFC 9260 appendix A).
        let checksum = u32::from_le_bytes(reader.read_array()?);
        Ok(Self { source_port, destination_port, verification_tag, checksum })
    }

    pub(crate) fn check_ports(self) -> Result<(), WireError> {
        let ports =
            [(0, "source port", self.source_port), (2, "destination port", self.destination_port)];
        match ports.into_iter().find(|(.., port)| *port == 0) {
            Some((offset, field, _)) => {
                let kind = WireErrorKind::Value { field, value: 0, allowed: "1 to 65535" };
                Err(WireError { offset, kind })
            }
            None => Ok(()),
        }
    }

    /// The header's wire form with the checksum as given.
    #[must_use]
    pub fn to_bytes(self) -> [u8; COMMON_HEADER_LEN] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [t0, t1, t2, t3] = self.verification_tag.to_be_bytes();
        let [c0, c1, c2, c3] = self.checksum.to_le_bytes();
        [s0, s1, d0, d1, t0, t1, t2, t3, c0, c1, c2, c3]
    }
}
