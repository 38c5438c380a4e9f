//! A packet with a SACK, DATA, or both, while it is written.

use polypath_wire::{COMMON_HEADER_LEN, PacketWriter};

use super::send_attempt::Transmission;
use crate::ids::{FourTuple, PathId};
use crate::protection::{HEADROOM, OVERHEAD};

/// A packet that was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) path: PathId,
    pub(crate) tuple: FourTuple,
    pub(crate) len: usize,
    pub(crate) size: PacketSize,
}

/// What the size of a packet asks of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketSize {
    /// It fits the path as far as is known.
    Fits,
    /// It cannot be made smaller: IP may fragment it.
    TooLarge,
    /// Whether its size fits is what it shall find out.
    Probe,
}

/// The common header of packets to the peer (RFC 9260 section 3.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct CommonHeader {
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    pub(super) verification_tag: u32,
}

/// How large a packet may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Bytes that fit the path, without what protection takes.
    pub(super) fitting: usize,
    /// Bytes that protection takes of this packet.
    pub(super) reserve: usize,
}

/// A packet with the common header alone, that may have `limit` bytes before it is protected.
/// `reserve`: those that protection takes of it, 0 if it goes in plain.
pub(super) fn begin_packet(
    buf: &mut Vec<u8>,
    limit: usize,
    reserve: usize,
    header: CommonHeader,
) -> PacketWriter<'_> {
    let CommonHeader { source_port, destination_port, verification_tag } = header;
    let whole = limit + reserve;
    let writer = PacketWriter::new(buf, whole, source_port, destination_port, verification_tag);
    if reserve > 0 { writer.with_room(HEADROOM, OVERHEAD - HEADROOM) } else { writer }
}

/// A packet under way to `path`.
pub(super) struct PacketBuilder<'b> {
    pub(super) path: PathId,
    pub(super) writer: PacketWriter<'b>,
    /// Bytes that it may have.
    limit: usize,
    /// So many fit the path's MTU.
    fits: bool,
    has_data: bool,
    /// The highest TSN in it.
    highest: u64,
}

impl<'b> PacketBuilder<'b> {
    /// Begins a packet of at most `fitting` bytes, and what protection adds. But a chunk that was
    /// cut for a larger MTU keeps its size: the packet may be as large as `first` needs, which goes
    /// alone then (RFC 9260 section 6.9).
    pub(super) fn new(
        path: PathId,
        room: Room,
        first: Option<&Transmission>,
        header: CommonHeader,
        buf: &'b mut Vec<u8>,
    ) -> Self {
        let needed = first.map_or(0, |next| next.size() + COMMON_HEADER_LEN);
        let Room { fitting, reserve } = room;
        let limit = fitting.max(needed);
        let writer = begin_packet(buf, limit, reserve, header);
        Self { path, writer, limit, fits: limit == fitting, has_data: false, highest: 0 }
    }

    /// A packet with control chunks in it, which may have `limit` bytes: DATA follows as it fits.
    pub(super) const fn around(path: PathId, writer: PacketWriter<'b>, limit: usize) -> Self {
        Self { path, writer, limit, fits: true, has_data: false, highest: 0 }
    }

    /// Whether the packet fits the path as far as is known.
    pub(super) const fn fits(&self) -> bool {
        self.fits
    }

    /// Whether DATA was written.
    pub(super) const fn has_data(&self) -> bool {
        self.has_data
    }

    /// Whether `next`, of this TSN, goes into the packet. DATA goes in the order of its TSNs (RFC
    /// 9260 section 6.10): what would step back opens a packet of its own.
    pub(super) fn takes(&self, next: &Transmission, tsn: u64) -> bool {
        next.path() == self.path && next.size() <= self.writer.remaining() && tsn >= self.highest
    }

    /// A chunk of this TSN was written.
    pub(super) const fn note_chunk(&mut self, tsn: u64) {
        (self.has_data, self.highest) = (true, tsn);
    }

    /// Bytes written so far.
    pub(super) fn len(&self) -> usize {
        self.limit - self.writer.remaining()
    }
}
