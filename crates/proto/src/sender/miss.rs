//! Miss indications: split fast retransmit (SFR) with delayed ack for CMT (DAC), or RFC 9260's over all paths.

use super::Sender;
use super::chunk::{ChunkState, TxChunk};
use super::sack::{PathOutcome, Scratch};
use crate::config::AssocConfig;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::Time;
use crate::view::LossKind;

/// What the newly acknowledged TSNs say about the missing ones of a path.
#[derive(Clone, Copy)]
struct Evidence {
    lowest: u64,
    highest: u64,
    /// When the latest of them was sent.
    sent: Time,
    /// DAC: packets that the SACK covers.
    count: u8,
}

impl Evidence {
    /// What the newly acknowledged TSNs of these paths say; `None` if there are none that may speak.
    fn of(paths: &[PathOutcome], count: u8) -> Option<Self> {
        let lowest = paths.iter().filter_map(|o| o.lowest_newack).min()?;
        let highest = paths.iter().filter_map(|o| o.highest_newack).max()?;
        let sent = paths.iter().map(|o| o.newack_sent).max()?;
        Some(Self { lowest, highest, sent, count })
    }

    /// Whether nothing that was sent after the latest transmission of `chunk` is newly acknowledged.
    fn precedes(self, chunk: &TxChunk) -> bool {
        chunk.sends > 1 && self.sent <= chunk.sent
    }

    /// Miss indications for `tsn`: one if acknowledged TSNs lie on both sides of it, else as many as packets arrived
    /// after it (Iyengar et al. 2006, DAC).
    const fn misses(self, tsn: u64) -> u8 {
        if tsn < self.lowest { self.count } else { 1 }
    }
}

impl Sender {
    /// Counts misses and marks chunks for fast retransmit.
    pub(super) fn miss_pass(
        &mut self,
        count: u8,
        paths: &mut PathSet,
        config: &AssocConfig,
        scratch: &mut Scratch,
    ) {
        let acked_paths = scratch.paths.iter().filter(|p| p.acked).count();
        // A mixed SACK says only that one packet of each path arrived; one that tells no number, at least that one did.
        let least = u8::from(config.sack.timer_count);
        let count = if acked_paths > 1 { 1 } else { count.clamp(least, 3) };
        for p in paths.ids() {
            if self.ignores_misses(p) {
                continue;
            }
            // Without SFR, HTNA over the association: what CMT's reordering makes go wrong.
            let speaking = if config.cmt.sfr {
                scratch.paths.get(p.index()..=p.index()).unwrap_or_default()
            } else {
                &scratch.paths
            };
            if let Some(evidence) = Evidence::of(speaking, count) {
                self.miss_path(p, evidence, paths, config, scratch);
            }
        }
    }

    fn miss_path(
        &mut self,
        p: PathId,
        evidence: Evidence,
        paths: &mut PathSet,
        config: &AssocConfig,
        scratch: &mut Scratch,
    ) {
        let Some(list) = self.paths.get_mut(p.index()) else { return };
        scratch.tsns.clear();
        list.in_flight_below(&self.ring, p, evidence.highest, &mut scratch.tsns);
        let (mut lost, mut highest) = (0, 0);
        for &tsn in &scratch.tsns {
            let Some(chunk) = self.ring.get_mut(tsn) else { continue };
            let trip = paths.view(p).and_then(|v| v.srtt).unwrap_or_default();
            if chunk.rescheduled && scratch.now.since(chunk.sent) <= 2 * trip {
                continue;
            }
            if scratch.full && evidence.precedes(chunk) {
                // What is newly reported may have arrived long ago, when the list had no room for it.
                continue;
            }
            chunk.missing = chunk.missing.saturating_add(evidence.misses(tsn));
            if u32::from(chunk.missing) < config.fast_retransmit_after || chunk.fast_retransmitted {
                continue;
            }
            chunk.fast_retransmitted = true;
            self.mark(tsn, LossKind::FastRetransmit, paths);
            lost += 1;
            highest = highest.max(tsn);
        }
        if lost == 0 {
            return;
        }
        let entered = self.enter_recovery(scratch.now, p, highest, paths);
        if let Some(o) = scratch.paths.get_mut(p.index()) {
            o.lost = lost;
            o.entered_recovery = entered;
        }
    }

    /// Declares a chunk in flight lost: it is no longer outstanding and waits to be sent again, unless a copy of it is in flight
    /// on another path.
    pub(super) fn mark(&mut self, tsn: u64, cause: LossKind, paths: &mut PathSet) {
        if self.promote_copy(tsn, paths) {
            return;
        }
        if self.lose_doomed(tsn, paths) {
            return;
        }
        let Some(chunk) = self.ring.get_mut(tsn) else { return };
        let in_flight = chunk.state == ChunkState::InFlight;
        chunk.state = ChunkState::Marked(cause);
        chunk.missing = 0;
        let (path, size, bytes) = (chunk.path, chunk.size(), chunk.bytes);
        if let Some(partial) = self.partial.as_mut().filter(|_| chunk.partial) {
            partial.lost(tsn);
        }
        if let Some(list) = self.paths.get_mut(path.index()) {
            list.marked.insert(tsn);
            if self.recovery.rack && cause == LossKind::FastRetransmit {
                list.recovery.rack.judged(tsn);
            }
        }
        let Some((view, own)) = paths.both_mut(path) else { return };
        view.lost_chunks += 1;
        own.cancel_probe(tsn);
        if in_flight {
            self.window.left(bytes);
            view.outstanding -= size;
            view.outstanding_payload -= u64::from(bytes);
        }
    }

    /// Fast recovery per path: until the TSNs in flight now are dealt with, the window is cut only once. `highest` is the
    /// highest TSN just lost.
    pub(super) fn enter_recovery(
        &mut self,
        now: Time,
        p: PathId,
        highest: u64,
        paths: &mut PathSet,
    ) -> bool {
        if self.belongs_to_timeout(p, highest) {
            return false;
        }
        let Some(list) = self.paths.get_mut(p.index()) else { return false };
        if list.recovery_exit.is_some() {
            return false;
        }
        // Copies may have taken over all that was in flight here: with nothing to wait for, recovery is over with the next SACK.
        list.recovery_exit = list.highest(&self.ring, p).max(Some(highest));
        list.allowance = true;
        if let Some((view, own)) = paths.both_mut(p) {
            view.in_recovery = true;
            own.stats.fast_recoveries += 1;
        }
        self.recovery_begins(now, p);
        true
    }
}
