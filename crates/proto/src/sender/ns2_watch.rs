//! Which TSNs ns-2.35 watches on each path: its expected pseudo-cum-acks, by which it also decides
//! when the cum-ack stops T3-rtx (`SendBufferDequeueUpTo` and `ProcessGapAckBlocks` of
//! `sctp/sctp-cmt.cc`).
//!
//! They are kept as there rather than derived from what is in flight: an expected TSN stays what it
//! was until a SACK with gap ack blocks has it looked for again, and T3-rtx depends on such stale
//! ones.

use super::outstanding::TxChunk;
use super::sack_outcome::SackOutcome;
use super::types::Class;
use crate::ids::PathId;

/// The watched TSNs of all paths.
#[derive(Debug, Default)]
pub(super) struct Ns2Watch {
    paths: Vec<[Expected; 2]>,
}

/// The expected pseudo-cum-ack of a class of chunks.
#[derive(Clone, Copy, Debug)]
struct Expected {
    tsn: u64,
    /// It is to be looked for again.
    find: bool,
}

impl Default for Expected {
    fn default() -> Self {
        Self { tsn: 0, find: true }
    }
}

impl Ns2Watch {
    fn of(&mut self, p: PathId) -> Option<&mut [Expected; 2]> {
        if self.paths.len() <= p.index() {
            self.paths.resize_with(p.index() + 1, Default::default);
        }
        self.paths.get_mut(p.index())
    }

    /// The cum-ack passes a chunk, whether or not it was gap-acked before. `alone`: without CMT,
    /// whose expected TSNs T3-rtx does not mind then.
    pub(super) fn cum_ack_passed(
        &mut self,
        tsn: u64,
        chunk: &TxChunk,
        alone: bool,
        outcome: &mut SackOutcome,
    ) {
        let Some(own) = self.of(chunk.path) else { return };
        if chunk.is_in_flight() || chunk.is_marked() {
            own.iter_mut().for_each(|expected| expected.find = true);
            if let Some(outcome) = outcome.path_mut(chunk.path) {
                outcome.expected_acked = true;
            }
        }
        if (alone || own.iter().any(|expected| expected.tsn <= tsn))
            && let Some(outcome) = outcome.path_mut(chunk.path)
        {
            outcome.t3_stopped = true;
        }
    }

    /// A chunk that was lost on `from` goes out on another path.
    pub(super) fn chunk_moved(&mut self, from: PathId) {
        if let Some(own) = self.of(from) {
            own.iter_mut().for_each(|expected| expected.find = true);
        }
    }

    /// A gap ack pass comes to a chunk that is not acknowledged yet; `now` it is.
    /// Gives whether a pseudo-cum-ack moves by that.
    pub(super) fn visit(&mut self, tsn: u64, p: PathId, class: Class, now: bool) -> bool {
        let Some(own) = self.of(p) else { return false };
        let expected = &mut own[usize::from(class == Class::Retransmitted)];
        if expected.find {
            *expected = Expected { tsn, find: false };
        }
        let mut moves = false;
        for expected in own.iter_mut().filter(|expected| now && expected.tsn == tsn) {
            (expected.find, moves) = (true, true);
        }
        moves
    }
}
