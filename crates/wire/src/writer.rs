//! Packets are encoded in place, chunk by chunk.

use crate::checksum::crc32c;
use crate::{COMMON_HEADER_LEN, CommonHeader};

/// A chunk that can write itself.
pub trait EncodeChunk {
    /// Bytes that [`encode`](Self::encode) appends: the chunk with its header, without its padding.
    fn encoded_len(&self) -> usize;

    /// Appends the chunk, without its padding. A chunk longer than 65535 bytes cannot state its
    /// length; [`PacketWriter::push`] refuses it.
    fn encode(&self, out: &mut Vec<u8>);
}

/// A chunk does not fit into the packet any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chunk takes {needed} bytes with padding, the packet has {remaining} left")]
pub struct NoRoom {
    /// Bytes of the chunk, padding included.
    pub needed: usize,
    /// Bytes left in the packet.
    pub remaining: usize,
}

/// What goes into the checksum field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumMode {
    /// The packet's CRC32c.
    Crc32c,
    /// Zero: only to a peer that accepts it (RFC 9653).
    Zero,
}

/// A packet under construction at the end of the caller's buffer.
#[derive(Debug)]
pub struct PacketWriter<'b> {
    buf: &'b mut Vec<u8>,
    start: usize,
    /// Bytes in front of the first chunk.
    head: usize,
    limit: usize,
}

impl<'b> PacketWriter<'b> {
    /// Appends the common header of a packet that will be at most `limit` bytes long, header
    /// included.
    #[inline]
    pub fn new(
        buf: &'b mut Vec<u8>,
        limit: usize,
        source_port: u16,
        destination_port: u16,
        verification_tag: u32,
    ) -> Self {
        let start = buf.len();
        let header = CommonHeader { source_port, destination_port, verification_tag, checksum: 0 };
        buf.extend_from_slice(&header.to_bytes());
        Self { buf, start, head: COMMON_HEADER_LEN, limit }
    }

    /// Leaves `headroom` bytes in front of the first chunk, and `trailer` behind the last, for
    /// [`seal`](Self::seal) to fill. Before any chunk is written.
    #[inline]
    #[must_use]
    pub fn with_room(mut self, headroom: usize, trailer: usize) -> Self {
        self.head += headroom;
        self.buf.resize(self.start + self.head, 0);
        self.limit = self.limit.saturating_sub(trailer);
        self
    }

    /// Bytes written so far, common header included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.buf.len().saturating_sub(self.start)
    }

    /// Whether the packet has no chunk yet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() <= self.head
    }

    /// Bytes left for chunks and their padding; a multiple of 4.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.len()) & !3
    }

    /// Appends a chunk and its padding.
    ///
    /// # Errors
    /// When it does not fit; the packet is then as it was.
    #[inline]
    pub fn push(&mut self, chunk: &impl EncodeChunk) -> Result<(), NoRoom> {
        let len = chunk.encoded_len();
        let needed = len.next_multiple_of(4);
        let remaining = self.remaining();
        if needed > remaining || len > usize::from(u16::MAX) {
            return Err(NoRoom { needed, remaining });
        }
        let end = self.buf.len() + needed;
        self.buf.reserve(needed);
        chunk.encode(self.buf);
        debug_assert_eq!(
            self.buf.len() + needed - len,
            end,
            "encoded_len must be what encode appends"
        );
        self.buf.resize(end, 0);
        Ok(())
    }

    /// The chunks written so far with their padding, for an HMAC over them (RFC 4895 section 6.2).
    #[must_use]
    pub fn chunk_area(&self) -> &[u8] {
        self.buf.get(self.start + self.head..).unwrap_or_default()
    }

    /// The chunks written so far, for the HMAC to be filled in.
    #[must_use]
    pub fn chunk_area_mut(&mut self) -> &mut [u8] {
        self.buf.get_mut(self.start + self.head..).unwrap_or_default()
    }

    /// Puts a chunk in front of what stands at byte `at` of the [chunk area](Self::chunk_area): an
    /// AUTH chunk before what it shall cover. The limit is not asked: who inserts has kept the
    /// room. Beyond the end it does nothing.
    pub fn insert(&mut self, at: usize, chunk: &impl EncodeChunk) {
        let at = self.start + self.head + at;
        if at > self.buf.len() {
            return;
        }
        let mut bytes = Vec::with_capacity(chunk.encoded_len().next_multiple_of(4));
        chunk.encode(&mut bytes);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        self.buf.splice(at..at, bytes);
    }

    /// Has what stands behind the common header made one protected chunk: `seal` is given the
    /// buffer and where the headroom begins. `None`, and the buffer is as it was before, if it says
    /// that it cannot.
    #[inline]
    pub fn seal(self, seal: impl FnOnce(&mut Vec<u8>, usize) -> bool) -> Option<Self> {
        if !seal(self.buf, self.start + COMMON_HEADER_LEN) {
            self.abandon();
            return None;
        }
        Some(self)
    }

    /// Fills the checksum in and returns the packet's length in bytes.
    #[inline]
    pub fn finish(self, checksum: ChecksumMode) -> usize {
        let packet = self.buf.get_mut(self.start..).unwrap_or_default();
        if checksum == ChecksumMode::Crc32c {
            let crc = crc32c(packet).to_le_bytes();
            if let Some(field) = packet.get_mut(8..COMMON_HEADER_LEN) {
                field.copy_from_slice(&crc);
            }
        }
        packet.len()
    }

    /// Gives the packet up; the buffer is as it was before.
    pub fn abandon(self) {
        self.buf.truncate(self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChecksumCheck, PacketView, PadRepr, ShutdownChunk, Tsn};

    const SHUTDOWN: ShutdownChunk = ShutdownChunk { cumulative_tsn: Tsn(1) };

    #[test]
    fn remaining_counts_padding_and_the_limit_holds() {
        let mut buf = vec![0xff; 3];
        let mut writer = PacketWriter::new(&mut buf, 31, 1, 2, 3);
        assert!(writer.is_empty());
        assert_eq!((writer.len(), writer.remaining()), (12, 16));
        writer.push(&PadRepr { len: 1 }).unwrap();
        assert_eq!((writer.len(), writer.remaining()), (20, 8));
        assert_eq!(writer.push(&PadRepr { len: 5 }), Err(NoRoom { needed: 12, remaining: 8 }));
        writer.push(&SHUTDOWN).unwrap();
        assert_eq!((writer.len(), writer.remaining()), (28, 0));
        assert_eq!(writer.finish(ChecksumMode::Crc32c), 28);
        assert_eq!(buf.len(), 31);
        PacketView::parse(&buf[3..], ChecksumCheck::Verify).unwrap();
    }

    #[test]
    fn a_limit_below_the_header_has_no_room() {
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, 5, 1, 2, 3);
        assert_eq!(writer.push(&PadRepr { len: 0 }), Err(NoRoom { needed: 4, remaining: 0 }));
    }

    #[test]
    fn a_chunk_that_cannot_state_its_length_is_refused() {
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, 1 << 20, 1, 2, 3);
        assert!(writer.push(&PadRepr { len: 65_532 }).is_err());
        assert!(writer.is_empty());
        writer.push(&PadRepr { len: 65_531 }).unwrap();
    }

    #[test]
    fn an_abandoned_packet_leaves_no_trace() {
        let mut buf = vec![7];
        let mut writer = PacketWriter::new(&mut buf, 100, 1, 2, 3);
        writer.push(&SHUTDOWN).unwrap();
        writer.abandon();
        assert_eq!(buf, [7]);
    }

    #[test]
    fn a_chunk_is_inserted_in_front_of_others_with_its_padding() {
        let mut buf = vec![9];
        let mut writer = PacketWriter::new(&mut buf, 24, 1, 2, 3);
        writer.push(&SHUTDOWN).unwrap();
        writer.insert(0, &PadRepr { len: 1 });
        writer.insert(16, &PadRepr { len: 0 });
        writer.insert(21, &PadRepr { len: 0 });
        let area = [132, 0, 0, 5, 0, 0, 0, 0, 7, 0, 0, 8, 0, 0, 0, 1, 132, 0, 0, 4];
        assert_eq!(writer.chunk_area(), area);
    }

    #[test]
    fn room_is_left_around_the_chunks_of_a_packet_that_is_sealed() {
        let mut buf = vec![9];
        let mut writer = PacketWriter::new(&mut buf, 40, 1, 2, 3).with_room(8, 12);
        assert!(writer.is_empty());
        assert_eq!(writer.remaining(), 8);
        writer.push(&SHUTDOWN).unwrap();
        assert_eq!((writer.len(), writer.remaining()), (28, 0));
        assert_eq!(writer.chunk_area(), [7, 0, 0, 8, 0, 0, 0, 1]);
        let sealed = writer.seal(|buf, at| {
            assert_eq!((at, buf.len()), (13, 29));
            buf.resize(41, 7);
            true
        });
        assert_eq!(sealed.unwrap().finish(ChecksumMode::Crc32c), 40);
        PacketView::parse(&buf[1..], ChecksumCheck::Verify).unwrap();
        let writer = PacketWriter::new(&mut buf, 40, 1, 2, 3).with_room(8, 12);
        assert!(writer.seal(|_, _| false).is_none());
        assert_eq!(buf.len(), 41);
    }

    #[test]
    fn the_chunk_area_is_what_an_hmac_covers() {
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, 100, 1, 2, 3);
        writer.push(&SHUTDOWN).unwrap();
        assert_eq!(writer.chunk_area(), [7, 0, 0, 8, 0, 0, 0, 1]);
        writer.chunk_area_mut()[7] = 9;
        writer.finish(ChecksumMode::Crc32c);
        assert_eq!(buf[19], 9);
        PacketView::parse(&buf, ChecksumCheck::Verify).unwrap();
    }
}
