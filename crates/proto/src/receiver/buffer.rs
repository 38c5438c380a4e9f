//! The receive buffer: what is held, and the window that is left of it (RFC 9260 section 6.2).

use core::ops::{AddAssign, SubAssign};

/// What a held chunk's bookkeeping counts against the memory bound, bytes: about what it takes, as
/// the counting allocator of `testkit`'s memory test shows.
pub(super) const BOOKKEEPING: u64 = 192;

/// Memory granted beyond twice the buffer, so that small buffers can still hold full chunks.
const MEMORY_SLACK: u64 = 64 << 10;

/// What chunks or messages occupy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charge {
    /// Payload bytes.
    pub(super) payload: u64,
    /// DATA chunks.
    pub(super) chunks: u64,
    /// Bytes against the memory bound.
    pub(super) weight: u64,
}

impl Charge {
    /// What one chunk occupies.
    #[inline]
    pub(super) const fn of(payload: usize) -> Self {
        let payload = payload as u64;
        // Full chunks are dominated by their payload; they must not lose buffer to the bookkeeping.
        let weight = if payload < BOOKKEEPING { BOOKKEEPING } else { payload };
        Self { payload, chunks: 1, weight }
    }
}

impl AddAssign for Charge {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.payload += other.payload;
        self.chunks += other.chunks;
        self.weight += other.weight;
    }
}

impl SubAssign for Charge {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.payload -= other.payload;
        self.chunks -= other.chunks;
        self.weight -= other.weight;
    }
}

/// The receive buffer's books.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    size: u64,
    chunk_charge: u64,
    held: Charge,
    /// Bytes against the memory bound that belong to no chunk.
    overhead: u64,
}

impl Buffer {
    /// An empty buffer of `size` payload bytes, of which every held chunk takes `chunk_charge` in
    /// addition.
    pub(super) const fn new(size: u32, chunk_charge: u32) -> Self {
        let held = Charge { payload: 0, chunks: 0, weight: 0 };
        Self { size: size as u64, chunk_charge: chunk_charge as u64, held, overhead: 0 }
    }

    /// Its size, payload bytes.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// It is larger from now on.
    pub(super) const fn grow(&mut self, size: u32) {
        self.size = size as u64;
    }

    /// The charge per chunk, bytes.
    pub(super) const fn chunk_charge(&self) -> u64 {
        self.chunk_charge
    }

    /// What is held: payload not yet deliverable, and payload not yet read.
    #[inline]
    pub(super) const fn held(&self) -> Charge {
        self.held
    }

    #[inline]
    pub(super) fn add(&mut self, charge: Charge) {
        self.held += charge;
    }

    #[inline]
    pub(super) fn free(&mut self, charge: Charge) {
        self.held -= charge;
    }

    /// Bookkeeping beside that of chunks takes so many bytes now.
    pub(super) const fn set_overhead(&mut self, bytes: u64) {
        self.overhead = bytes;
    }

    /// The window, bytes: what the books leave of the buffer, and never more than the memory bound
    /// leaves.
    ///
    /// The bound shows only with chunks of less than 32 bytes: then the window closes early instead
    /// of promising room that bookkeeping has eaten (RFC 9260 section 6.2 leaves buffer management
    /// to us).
    #[inline]
    pub(super) fn window(&self) -> u64 {
        let used = self.held.payload + self.held.chunks * self.chunk_charge;
        self.size.saturating_sub(used).min(self.memory_left())
    }

    /// Whether a chunk of `payload` bytes fits the window.
    pub(super) fn fits(&self, payload: usize) -> bool {
        self.window() >= payload as u64 + self.chunk_charge
    }

    /// Bytes left of the memory bound.
    #[inline]
    pub(super) const fn memory_left(&self) -> u64 {
        (2 * self.size + MEMORY_SLACK).saturating_sub(self.held.weight + self.overhead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_buffer_less_payload_and_charges() {
        let mut buffer = Buffer::new(10_000, 16);
        assert_eq!(buffer.window(), 10_000);
        buffer.add(Charge::of(1452));
        buffer.add(Charge::of(100));
        assert_eq!(buffer.window(), 10_000 - 1552 - 32);
        buffer.free(Charge::of(100));
        assert_eq!(buffer.window(), 10_000 - 1452 - 16);
        assert!(buffer.fits(8_516) && !buffer.fits(8_517));
    }

    #[test]
    fn an_overbooked_window_is_zero() {
        let mut buffer = Buffer::new(1_500, 0);
        buffer.add(Charge::of(1_452));
        buffer.add(Charge::of(1_452));
        assert_eq!(buffer.window(), 0);
    }

    #[test]
    fn tiny_chunks_close_the_window_before_their_bookkeeping_outgrows_the_buffer() {
        let mut buffer = Buffer::new(1 << 20, 0);
        let mut chunks = 0;
        while buffer.window() > 0 {
            buffer.add(Charge::of(1));
            chunks += 1;
        }
        assert_eq!(chunks, ((2 << 20) + MEMORY_SLACK).div_ceil(BOOKKEEPING));
    }
}
