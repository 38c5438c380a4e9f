//! A received packet: checked header, then chunk after chunk.

use crate::checksum::{PacketChecksum, packet_checksum};
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
        Self::parse_with(bytes, crc, packet_checksum)
    }

    /// The same for who parses packet after packet.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    #[inline]
    pub fn parse_next(
        bytes: &'a [u8],
        crc: ChecksumCheck,
        checksum: &mut PacketChecksum,
    ) -> Result<Self, WireError> {
        Self::parse_with(bytes, crc, |bytes| checksum.compute_crc32c(bytes))
    }

    #[inline]
    fn parse_with(
        bytes: &'a [u8],
        crc: ChecksumCheck,
        checksum: impl FnOnce(&[u8]) -> u32,
    ) -> Result<Self, WireError> {
        let header = CommonHeader::from_packet(bytes)?;
        check_checksum(bytes, header.checksum, crc, checksum)?;
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

#[inline]
fn check_checksum(
    bytes: &[u8],
    found: u32,
    crc: ChecksumCheck,
    checksum: impl FnOnce(&[u8]) -> u32,
) -> Result<(), WireError> {
    let trusted = match crc {
        ChecksumCheck::Verify => false,
        ChecksumCheck::AcceptZero => found == 0,
        ChecksumCheck::Skip => true,
    };
    if trusted {
        return Ok(());
    }
    let expected = checksum(bytes);
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
        let chunk = RawChunk::split_first(self.rest, self.offset);
        // The last chunk's padding may be missing (RFC 9260 section 3.2).
        let padded = chunk.map_or(self.rest.len(), |c| c.bytes().len().next_multiple_of(4));
        self.rest = self.rest.get(padded..).unwrap_or_default();
        self.offset += padded;
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChecksumMode, Chunk, CookieEchoChunk, Item, PacketWriter};

    fn packet(source_port: u16, destination_port: u16, checksum: ChecksumMode) -> Vec<u8> {
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, 100, source_port, destination_port, 3);
        writer.push(&Chunk::CookieAck).unwrap();
        writer.push(&CookieEchoChunk { cookie: b"12345" }).unwrap();
        writer.finish(checksum);
        buf
    }

    #[test]
    fn a_wrong_checksum_says_what_it_should_be() {
        let mut bytes = packet(1, 2, ChecksumMode::Crc32c);
        let expected = PacketView::parse(&bytes, ChecksumCheck::Verify).unwrap().header().checksum;
        bytes[8] ^= 1;
        let kind = WireErrorKind::Checksum { found: expected ^ 1, expected };
        let error = Err(WireError { offset: 8, kind });
        assert_eq!(PacketView::parse(&bytes, ChecksumCheck::Verify), error);
        assert_eq!(PacketView::parse(&bytes, ChecksumCheck::AcceptZero), error);
        assert!(PacketView::parse(&bytes, ChecksumCheck::Skip).is_ok());
    }

    #[test]
    fn a_zero_checksum_needs_consent() {
        let bytes = packet(1, 2, ChecksumMode::Zero);
        assert!(PacketView::parse(&bytes, ChecksumCheck::Verify).is_err());
        assert!(PacketView::parse(&bytes, ChecksumCheck::AcceptZero).is_ok());
    }

    #[test]
    fn port_zero_is_refused() {
        for (ports, offset) in [((0, 2), 0), ((1, 0), 2)] {
            let bytes = packet(ports.0, ports.1, ChecksumMode::Crc32c);
            assert_eq!(
                PacketView::parse(&bytes, ChecksumCheck::Verify).unwrap_err().offset,
                offset
            );
        }
    }

    #[test]
    fn the_last_chunk_may_lack_its_padding() {
        let bytes = packet(1, 2, ChecksumMode::Crc32c);
        for missing in 0..=3 {
            let shorter = &bytes[..bytes.len() - missing];
            let chunks = PacketView::parse(shorter, ChecksumCheck::Skip).unwrap().chunks();
            assert_eq!(chunks.map(|c| c.unwrap().value.len()).collect::<Vec<_>>(), [0, 5]);
        }
    }

    #[test]
    fn iteration_ends_after_the_first_error() {
        let mut bytes = packet(1, 2, ChecksumMode::Crc32c);
        bytes[15] = 3;
        let mut chunks = PacketView::parse(&bytes, ChecksumCheck::Skip).unwrap().chunks();
        let kind = WireErrorKind::Length { item: Item::Chunk(11), length: 3, left: 16 };
        assert_eq!(chunks.next(), Some(Err(WireError { offset: 14, kind })));
        assert_eq!(chunks.next(), None);
    }
}
