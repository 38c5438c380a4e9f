//! A received packet: checked header, then chunk after chunk.

use crate::checksum::packet_checksum;
use crate::{COMMON_HEADER_LEN, CommonHeader, RawChunk, WireError, WireErrorKind};

/// How a received packet's checksum is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumCheck {
    /// It must be the packet's CRC32c.
    Verify,
    /// It must be the packet's CRC32c or zero (RFC 9653, where a lower layer protects the packet).
    AcceptZero,
    /// It is not looked at.
    Skip,
}

/// A received packet whose common header has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView<'a> {
    bytes: &'a [u8],
    header: CommonHeader,
}

impl<'a> PacketView<'a> {
    /// Checks the common header; chunks are checked when they are reached.
    ///
    /// # Errors
    /// When the packet is shorter than its header, the checksum is wrong or a port is 0; each of
    /// these packets is to be discarded silently.
    #[inline]
    pub fn parse(bytes: &'a [u8], crc: ChecksumCheck) -> Result<Self, WireError> {
        let header = CommonHeader::decode(bytes)?;
        check_checksum(bytes, header.checksum, crc)?;
        header.check_ports()?;
        Ok(Self { bytes, header })
    }

    /// The common header.
    #[inline]
    #[must_use]
    pub const fn header(&self) -> CommonHeader {
        self.header
    }

    /// The chunks in the order sent.
    #[inline]
    #[must_use]
    pub fn chunks(&self) -> ChunkIter<'a> {
        let rest = self.bytes.get(COMMON_HEADER_LEN..).unwrap_or_default();
        ChunkIter { rest, offset: COMMON_HEADER_LEN }
    }

    /// The whole packet.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

fn check_checksum(bytes: &[u8], found: u32, crc: ChecksumCheck) -> Result<(), WireError> {
    let trusted = match crc {
        ChecksumCheck::Verify => false,
        ChecksumCheck::AcceptZero => found == 0,
        ChecksumCheck::Skip => true,
    };
    if trusted {
        return Ok(());
    }
    let expected = packet_checksum(bytes);
    if found == expected {
        return Ok(());
    }
    Err(WireError { offset: 8, kind: WireErrorKind::Checksum { found, expected } })
}

/// The chunks of a packet; ends after the first error, for what follows has no known border.
#[derive(Clone, Debug)]
pub struct ChunkIter<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Iterator for ChunkIter<'a> {
    type Item = Result<RawChunk<'a>, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let chunk = RawChunk::first(self.rest, self.offset);
        // The last chunk's padding may be missing (RFC 9260 section 3.2).
        let padded = chunk.map_or(self.rest.len(), |c| c.bytes().len().next_multiple_of(4));
        self.rest = self.rest.get(padded..).unwrap_or_default();
        self.offset += padded;
        Some(chunk)
    }
}
