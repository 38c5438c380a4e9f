//! Which numbers of an epoch were taken: each is taken once.

use polypath_proto::time::{Duration, Time};

/// Bits that there are at least: half a KiB.
pub(super) const MIN_BITS: u64 = 4096;

/// Bits that there are at most: 128 KiB, the numbers of 1.17 s at 10 Gbit/s of 1400-byte packets.
pub(super) const MAX_BITS: u64 = 1 << 20;

/// The window covers the numbers that came up in the last [`SPAN`] at least, as far as
/// [`MAX_BITS`] allow: paths whose delays differ by less than that deliver nothing too late.
/// Satellites differ by 0.6 s from all else; queues of slow links by a second and more.
pub(super) const SPAN: Duration = Duration::from_secs(2);

/// A ring of bits over the highest numbers, as RFC 6479 has it, which grows before it is needed:
/// a number that was pushed out of it is lost for good, since nobody could tell whether it came.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// A power of two of words, or none before the first number. Bit `n % 64` of word `n / 64`,
    /// modulo their number, says whether `n` was taken.
    words: Vec<u64>,
    /// One more than the highest number that was taken.
    next: u64,
    /// Lower ones are taken no more.
    floor: u64,
    /// When the count `current` began.
    since: Time,
    /// By how much the highest number grew since then, and in the span of time before.
    current: u64,
    previous: u64,
}

impl Window {
    /// One more than the highest number that was taken; 0 before the first.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether `number` may be taken: it was not yet.
    pub(super) fn is_fresh(&self, number: u64) -> bool {
        number >= self.next
            || (number >= self.floor && self.word(number).is_some_and(|w| w & bit(number) == 0))
    }

    /// Numbers that are told apart.
    pub(super) const fn bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    /// Takes a number that is fresh, and authentic.
    pub(super) fn take(&mut self, now: Time, number: u64) {
        self.roll(now);
        if number >= self.next {
            self.current += number + 1 - self.next;
            let wanted = 2 * (self.current + self.previous);
            if wanted > self.bits() {
                self.resize(wanted);
            }
            self.advance(number);
        }
        let index = self.index(number / 64);
        if let Some(word) = self.words.get_mut(index) {
            *word |= bit(number);
        }
    }

    fn word(&self, number: u64) -> Option<u64> {
        self.words.get(self.index(number / 64)).copied()
    }

    const fn index(&self, word: u64) -> usize {
        word as usize & self.words.len().wrapping_sub(1)
    }

    /// Counts from now on anew if that is due, and gives back memory that slower paths do not need.
    fn roll(&mut self, now: Time) {
        let elapsed = now.since(self.since);
        if elapsed < SPAN {
            return;
        }
        self.previous = if elapsed < 2 * SPAN { self.current } else { 0 };
        self.current = 0;
        self.since = now;
        // Far below what would have it grow again, so that a rate that sways costs no copies.
        if self.bits() > MIN_BITS && 16 * self.previous < self.bits() {
            self.resize(4 * self.previous);
        }
    }

    /// Gives the ring `bits` or more, and keeps what it knows as far as that still has room.
    fn resize(&mut self, bits: u64) {
        let bits = bits.clamp(MIN_BITS, MAX_BITS).next_power_of_two();
        if bits == self.bits() {
            return;
        }
        let old = core::mem::replace(&mut self.words, vec![0; (bits / 64) as usize]);
        let mask = old.len().wrapping_sub(1);
        self.raise_floor();
        if self.next == 0 {
            return;
        }
        for word in self.floor / 64..=(self.next - 1) / 64 {
            let index = self.index(word);
            if let (Some(to), Some(from)) =
                (self.words.get_mut(index), old.get(word as usize & mask))
            {
                *to = *from;
            }
        }
    }

    /// Makes `number` the highest.
    fn advance(&mut self, number: u64) {
        // Before the first number there is nothing below it to clear, not even in its own word.
        let fresh = self.next.div_ceil(64);
        let behind = (number / 64 + 1).saturating_sub(self.words.len() as u64);
        for word in fresh.max(behind)..=number / 64 {
            let index = self.index(word);
            if let Some(word) = self.words.get_mut(index) {
                *word = 0;
            }
        }
        self.next = number + 1;
        self.raise_floor();
    }

    /// The ring's oldest words make room for the newest.
    fn raise_floor(&mut self) {
        let end = self.next.div_ceil(64) * 64;
        self.floor = self.floor.max(end.saturating_sub(self.bits()));
    }
}

const fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests;
