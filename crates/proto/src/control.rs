//! Control chunks that wait to be sent.

use std::collections::VecDeque;

use polypath_wire::EncodeChunk;
use polypath_wire::chunk::kind;

use crate::handshake::needs_checksum;
use crate::ids::{FourTuple, PathId};
use crate::path::PathSet;

/// A control chunk that waits for [`poll_transmit`](crate::Endpoint::poll_transmit), encoded.
#[derive(Clone, Debug)]
pub(crate) struct ControlChunk {
    pub(crate) path: PathId,
    pub(crate) bytes: Vec<u8>,
    pub(crate) bundling: Bundling,
    /// Another destination than that of the path: of an answer to who has no path (RFC 5061 section
    /// 5.2, E6).
    pub(crate) to: Option<Box<FourTuple>>,
}

impl ControlChunk {
    pub(crate) fn new(path: PathId, chunk: &impl EncodeChunk, bundling: Bundling) -> Self {
        let mut bytes = Vec::with_capacity(chunk.encoded_len());
        chunk.encode(&mut bytes);
        Self { path, bytes, bundling, to: None }
    }

    /// Its type.
    pub(crate) fn kind(&self) -> Option<u8> {
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
    /// Nothing else: SHUTDOWN COMPLETE (section 3.3.14), ABORT, HEARTBEAT to an unconfirmed
    /// address.
    Alone,
    /// Nothing else: a HEARTBEAT with padding, whose size is what matters (RFC 8899 section
    /// 6.2.1.2).
    Probe,
    /// Nothing else, T bit set, the peer's own tag reflected: answers outside the association's tag
    /// (section 8.5.1).
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

/// Control chunks that may wait at the same time. A peer that makes us answer without end gets no
/// answer to what does not fit (RFC 9260 section 12.4).
const MAX_WAITING: usize = 64;

/// The control chunks of one association, in the order in which they are sent.
#[derive(Debug, Default)]
pub(crate) struct ControlQueue(VecDeque<ControlChunk>);

impl ControlQueue {
    /// Queues `chunk` for `path`.
    pub(crate) fn send(&mut self, path: PathId, chunk: &impl EncodeChunk, bundling: Bundling) {
        self.push(ControlChunk::new(path, chunk, bundling));
    }

    /// Queues a chunk that is encoded already.
    pub(crate) fn push(&mut self, chunk: ControlChunk) {
        if self.0.len() < MAX_WAITING {
            self.0.push_back(chunk);
        }
    }

    /// The chunk that is sent next.
    #[inline]
    pub(crate) fn front(&self) -> Option<&ControlChunk> {
        self.0.front()
    }

    /// Takes the chunk that is sent next.
    pub(crate) fn pop_front(&mut self) -> Option<ControlChunk> {
        self.0.pop_front()
    }

    /// Takes the chunk that was queued last.
    pub(crate) fn pop_back(&mut self) -> Option<ControlChunk> {
        self.0.pop_back()
    }

    /// How many wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets those of one type.
    pub(crate) fn clear_kind(&mut self, kind: u8) {
        self.0.retain(|chunk| chunk.kind() != Some(kind));
    }

    /// Gives the memory back once the queue is empty: it is seldom used, and idle associations are
    /// many.
    pub(crate) fn release_if_empty(&mut self) {
        if self.0.is_empty() {
            self.0 = VecDeque::new();
        }
    }

    /// The chunk of type `kind` that waits.
    pub(crate) fn find_mut(&mut self, kind: u8) -> Option<&mut ControlChunk> {
        self.0.iter_mut().find(|chunk| chunk.kind() == Some(kind))
    }

    /// Whether a chunk of type `kind` waits.
    pub(crate) fn contains(&self, kind: u8) -> bool {
        self.0.iter().any(|chunk| chunk.kind() == Some(kind))
    }

    /// Chunks that wait for `path`, which is removed, take `heir`, if anything but ASCONF may go
    /// there (`confirmed`). What is about the path itself goes with it.
    pub(crate) fn redirect(&mut self, path: PathId, heir: PathId, confirmed: bool) {
        self.0.retain_mut(|chunk| {
            if chunk.path != path || chunk.to.is_some() {
                return true;
            }
            let about_path = matches!(chunk.kind(), Some(kind::HEARTBEAT | kind::HEARTBEAT_ACK));
            if about_path || !confirmed && chunk.kind() != Some(kind::ASCONF) {
                return false;
            }
            chunk.path = heir;
            if !confirmed {
                chunk.bundling = Bundling::Alone;
            }
            true
        });
    }

    /// The answers to one packet, those behind the first `waiting` chunks, go out in one packet
    /// (RFC 9260 section 12.4): beside SHUTDOWN or SHUTDOWN ACK on another path, or without room
    /// for both, no HEARTBEAT ACK and no ERROR is sent.
    #[inline]
    pub(crate) fn answer_in_one_packet(&mut self, waiting: usize, paths: &PathSet) {
        if self.0.len() > waiting {
            self.drop_dispensable(waiting, paths);
        }
    }

    #[inline(never)]
    fn drop_dispensable(&mut self, waiting: usize, paths: &PathSet) {
        let new = self.0.iter().skip(waiting);
        let Some(path) = new.clone().find(|c| c.is_shutdown()).map(|c| c.path) else { return };
        let bytes: usize = new.clone().map(|c| c.bytes.len().next_multiple_of(4)).sum();
        let fits = bytes + polypath_wire::COMMON_HEADER_LEN <= paths.packet_limit(path);
        let mut at = 0;
        self.0.retain(|chunk| {
            at += 1;
            at <= waiting || !chunk.is_dispensable() || fits && chunk.path == path
        });
    }
}

/// Whether one of these encoded chunks must not travel without a checksum.
pub(crate) fn any_needs_checksum(mut chunks: &[u8]) -> bool {
    while let Some(&[kind, _, l0, l1]) = chunks.first_chunk() {
        if needs_checksum(kind) {
            return true;
        }
        let len = usize::from(u16::from_be_bytes([l0, l1])).max(4).next_multiple_of(4);
        chunks = chunks.get(len..).unwrap_or_default();
    }
    false
}
