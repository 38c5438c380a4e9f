//! Control chunks on their way out.

use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumMode, EncodeChunk};

use super::Association;
use crate::handshake::needs_checksum;
use crate::ids::{FourTuple, PathId};

/// A control chunk that waits for [`poll_transmit`](crate::Endpoint::poll_transmit), encoded.
#[derive(Clone, Debug)]
pub(crate) struct ControlChunk {
    pub(crate) path: PathId,
    pub(crate) bytes: Vec<u8>,
    pub(crate) bundling: Bundling,
    /// Another destination than that of the path: of an answer to who has no path (RFC 5061 section 5.2, E6).
    pub(crate) to: Option<Box<FourTuple>>,
}

impl ControlChunk {
    pub(super) fn new(path: PathId, chunk: &impl EncodeChunk, bundling: Bundling) -> Self {
        let mut bytes = Vec::with_capacity(chunk.encoded_len());
        chunk.encode(&mut bytes);
        Self { path, bytes, bundling, to: None }
    }

    /// Its type.
    pub(super) fn kind(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// It answers a single request, which the peer may repeat.
    fn is_dispensable(&self) -> bool {
        matches!(self.kind(), Some(kind::HEARTBEAT_ACK | kind::ERROR))
    }

    fn is_shutdown(&self) -> bool {
        matches!(self.kind(), Some(kind::SHUTDOWN | kind::SHUTDOWN_ACK))
    }
}

/// What may share the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bundling {
    /// Control chunks before it and behind it, DATA behind it.
    Free,
    /// It must come first (COOKIE ECHO, COOKIE ACK); anything may follow.
    First,
    /// Nothing else, and verification tag 0: INIT (RFC 9260 sections 3.3.2 and 8.5.1).
    Init,
    /// Nothing else: SHUTDOWN COMPLETE (section 3.3.14), ABORT, HEARTBEAT to an unconfirmed address.
    Alone,
    /// Nothing else: a HEARTBEAT with padding, whose size is what matters (RFC 8899 section 6.2.1.2).
    Probe,
    /// Nothing else, T bit set, the peer's own tag reflected: answers outside the association's tag (section 8.5.1).
    Reflected(u32),
}

/// A chunk that is encoded already.
pub(crate) struct Encoded<'a>(pub(crate) &'a [u8]);

impl EncodeChunk for Encoded<'_> {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

/// Control chunks that may wait at the same time. More is a peer that makes us answer without end: what does not fit is
/// not answered (RFC 9260 section 12.4).
const MAX_WAITING: usize = 64;

impl Association {
    /// Whether a packet with these chunks goes without checksum: where both ends said so, and no chunk of it asks for one (RFC 9653).
    #[inline]
    pub(super) fn checksum(&self, chunks: &[u8]) -> ChecksumMode {
        if !self.caps.agreed.zero_checksum || any_needs_checksum(chunks) {
            return ChecksumMode::Crc32c;
        }
        ChecksumMode::Zero
    }

    /// Queues `chunk` for `path`.
    pub(crate) fn send_control(
        &mut self,
        path: PathId,
        chunk: &impl EncodeChunk,
        bundling: Bundling,
    ) {
        self.queue_control(ControlChunk::new(path, chunk, bundling));
    }

    /// Queues a chunk that is encoded already.
    pub(super) fn queue_control(&mut self, chunk: ControlChunk) {
        if self.control.len() < MAX_WAITING {
            self.control.push_back(chunk);
        }
    }

    /// The answers to one packet, those behind the first `waiting` control chunks, go out in one packet (RFC 9260 section 12.4): beside
    /// SHUTDOWN or SHUTDOWN ACK on another path, or without room for both, no HEARTBEAT ACK and no ERROR is sent.
    #[inline]
    pub(super) fn answer_in_one_packet(&mut self, waiting: usize) {
        if self.control.len() > waiting {
            self.drop_answers(waiting);
        }
    }

    #[inline(never)]
    fn drop_answers(&mut self, waiting: usize) {
        let new = self.control.iter().skip(waiting);
        let Some(path) = new.clone().find(|c| c.is_shutdown()).map(|c| c.path) else { return };
        let bytes: usize = new.clone().map(|c| c.bytes.len().next_multiple_of(4)).sum();
        let fits = bytes + polypath_wire::COMMON_HEADER_LEN <= self.paths.packet_limit(path);
        let mut at = 0;
        self.control.retain(|chunk| {
            at += 1;
            at <= waiting || !chunk.is_dispensable() || fits && chunk.path == path
        });
    }
}

/// Whether one of these encoded chunks must not travel without a checksum.
fn any_needs_checksum(mut chunks: &[u8]) -> bool {
    while let Some(&[kind, _, l0, l1]) = chunks.first_chunk() {
        if needs_checksum(kind) {
            return true;
        }
        let len = usize::from(u16::from_be_bytes([l0, l1])).max(4).next_multiple_of(4);
        chunks = chunks.get(len..).unwrap_or_default();
    }
    false
}
