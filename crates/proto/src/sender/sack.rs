//! What a SACK or NR-SACK does to the chunks in flight, in the order of operations that CMT needs (Iyengar et al. 2006):
//! cum-ack pass, gap-ack pass, reneging, miss indications (SFR, DAC), fast recovery exits, T3 and RTT. Windows follow in
//! `association::sack`, which knows the congestion control.

use polypath_wire::{GapBlock, GapBlocks, Tsns};

use super::Sender;
use super::chunk::{ChunkState, TxChunk};
use super::path_list::{Class, TxPath};
use crate::config::{AssocConfig, Cuc};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};

/// A SACK or NR-SACK with its TSNs extended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackInfo<'a> {
    pub(crate) cum: u64,
    pub(crate) a_rwnd: u32,
    pub(crate) gaps: GapBlocks<'a>,
    pub(crate) nr_gaps: GapBlocks<'a>,
    /// TSNs that the peer received again.
    pub(crate) duplicates: Tsns<'a>,
    /// DAC: packets that this SACK covers, at least 1.
    pub(crate) count: u8,
    /// A SHUTDOWN's cum-ack: the missing gap blocks withdraw nothing, the window is not stated (RFC 9260 section 9.2).
    pub(crate) cum_only: bool,
}

/// What came of a SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SackVerdict {
    /// Processed.
    Taken,
    /// Older than what is known: at most good for an RTT sample.
    Stale,
    /// It acknowledges what was never sent: ABORT (RFC 9260 section 12.4).
    Violation,
}

/// The result of a SACK for the association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackOutcome {
    pub(crate) verdict: SackVerdict,
    /// The cum-ack point moved.
    pub(crate) cum_advanced: bool,
    /// Something was newly acknowledged.
    pub(crate) news: bool,
    /// Payload bytes that left the send buffer.
    pub(crate) freed: u64,
    /// A chunk that had been fast-retransmitted was acknowledged (ns-2's condition for Max.Burst).
    pub(crate) fast_retransmission_acked: bool,
    /// TSNs withdrawn by the peer.
    pub(crate) reneged: u64,
    /// Gap ack blocks that cannot be true.
    pub(crate) impossible_blocks: u32,
}

/// The result of a SACK for one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathOutcome {
    /// DATA chunk bytes newly acknowledged.
    pub(crate) newly_acked: u64,
    pub(crate) outstanding_before: u64,
    /// CUC: the path's pseudo-cum-ack moved.
    pub(crate) new_pseudo_cumack: bool,
    /// A chunk that was sent once, hence unambiguous, was acknowledged.
    pub(crate) acked_once: bool,
    /// A chunk that was sent on this path alone, how often so ever, was acknowledged.
    pub(crate) acked_here_alone: bool,
    pub(crate) acked: bool,
    /// Chunks marked for fast retransmit.
    pub(crate) lost: u32,
    /// The path enters fast recovery by this SACK.
    pub(crate) entered_recovery: bool,
    /// The latest timeout turned out to be spurious, and is undone but for the windows.
    pub(crate) spurious_timeout: bool,
    /// A copy here left the flight, for whatever reason.
    pub(super) copy_left: bool,
    /// RACK: the latest transmission, (sent, TSN), that this SACK proves delivered.
    pub(super) newest_delivered: Option<(Time, u64)>,
    /// An RTT sample.
    pub(crate) rtt: Option<Duration>,
    /// SFR and DAC: the newly acknowledged TSNs of this path that may speak for reordering.
    pub(super) lowest_newack: Option<u64>,
    pub(super) highest_newack: Option<u64>,
    /// When the latest of them was sent.
    pub(super) newack_sent: Time,
    /// Pseudo-cum-acks before the SACK.
    pseudo_once: Option<u64>,
    pseudo_again: Option<u64>,
    earliest_sent: Option<(u64, Time)>,
}

impl PathOutcome {
    /// The round trip of the latest chunk acknowledged, where RACK keeps the times of all; else a sample of one per round trip.
    pub(crate) fn latest_rtt(&self, now: Time) -> Option<Duration> {
        self.newest_delivered.map(|(sent, _)| now.since(sent)).or(self.rtt)
    }
}

/// Buffers that are kept between SACKs, so that processing one allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) paths: Vec<PathOutcome>,
    /// Bits of the TSNs reported by gap blocks of either kind, and by NR blocks, from `first_word` on.
    bits: Vec<u64>,
    nr_bits: Vec<u64>,
    pub(super) tsns: Vec<u64>,
    pub(super) now: Time,
    /// The SACK's list of blocks may be full.
    pub(super) full: bool,
    /// The SACK leaves TSNs out that the peer has withdrawn, up to this one; beyond it leaves out what it has no room for.
    told_to: u64,
}

impl Sender {
    /// Processes a SACK that arrived on `arrival`. `newest` is the path of the SACK that last brought news.
    pub(crate) fn on_sack(
        &mut self,
        now: Time,
        arrival: PathId,
        newest: PathId,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) -> SackOutcome {
        let mut scratch = core::mem::take(&mut self.scratch);
        let outcome = self.process(now, arrival, newest, sack, paths, config, &mut scratch);
        self.scratch = scratch;
        outcome
    }

    /// The per-path results of the last [`on_sack`](Self::on_sack).
    pub(crate) fn path_outcome(&self, p: PathId) -> PathOutcome {
        self.scratch.paths.get(p.index()).copied().unwrap_or_default()
    }

    #[expect(clippy::too_many_arguments, reason = "one step of on_sack with its scratch taken out")]
    fn process(
        &mut self,
        now: Time,
        arrival: PathId,
        newest: PathId,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        config: &AssocConfig,
        scratch: &mut Scratch,
    ) -> SackOutcome {
        let mut outcome = SackOutcome {
            verdict: SackVerdict::Taken,
            cum_advanced: false,
            news: false,
            freed: 0,
            fast_retransmission_acked: false,
            reneged: 0,
            impossible_blocks: 0,
        };
        self.begin(now, paths, scratch);
        self.recovery_duplicates(now, sack.duplicates.iter());
        self.copy_duplicates(sack.duplicates.iter(), scratch);
        if sack.cum < self.cum_ack() {
            self.sample_rtt(now, arrival, sack, paths, config, scratch);
            outcome.verdict = SackVerdict::Stale;
            return outcome;
        }
        let first_word = self.ring.base() / 64;
        match collect_bits(sack, first_word, self.highest_sent(), scratch) {
            Some(impossible) => outcome.impossible_blocks = impossible,
            None => {
                outcome.verdict = SackVerdict::Violation;
                return outcome;
            }
        }
        self.cum_ack_pass(sack, paths, scratch, &mut outcome, config);
        self.gap_ack_pass(first_word, paths, scratch, &mut outcome, config);
        outcome.news |= outcome.cum_advanced;
        scratch.full = self.is_full(sack);
        if !sack.cum_only && self.withdraws(sack, first_word, &outcome, scratch) {
            // A SACK may have been overtaken by a newer one on a faster path. It is the newest if it brings news, or if it
            // follows the newest along the same path; else its silence proves nothing.
            if outcome.news || arrival == newest {
                outcome.reneged = self.renege_pass(now, first_word, paths, scratch);
            } else {
                self.keep_watch(now, first_word, paths, scratch);
                self.sample_rtt(now, arrival, sack, paths, config, scratch);
                outcome.verdict = SackVerdict::Stale;
                return outcome;
            }
        }
        if !sack.cum_only {
            self.told_to = scratch.told_to;
        }
        self.recovery_before_misses(now, paths, outcome.news, scratch);
        if outcome.news {
            self.miss_pass(sack.count, paths, config, scratch);
            self.recovery_after_misses(now, paths, scratch);
        }
        self.leave_recoveries(paths);
        self.sample_rtt(now, arrival, sack, paths, config, scratch);
        if !sack.cum_only {
            self.window.advertise(sack.a_rwnd);
        }
        self.update_t3(now, paths, scratch);
        self.recovery_sack_done(now, paths, scratch);
        outcome
    }

    /// Notes where every path stands before the SACK.
    fn begin(&mut self, now: Time, paths: &PathSet, scratch: &mut Scratch) {
        scratch.now = now;
        scratch.paths.clear();
        for (view, list) in paths.views.iter().zip(&mut self.paths) {
            list.recovery.note_flight(view.outstanding);
            scratch.paths.push(PathOutcome {
                outstanding_before: view.outstanding,
                pseudo_once: list.lowest(&self.ring, view.id, Class::Once),
                pseudo_again: list.lowest(&self.ring, view.id, Class::Again),
                earliest_sent: list.earliest_sent(&self.ring, view.id),
                ..PathOutcome::default()
            });
        }
    }

    fn cum_ack_pass(
        &mut self,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        scratch: &mut Scratch,
        outcome: &mut SackOutcome,
        config: &AssocConfig,
    ) {
        while self.ring.base() <= sack.cum {
            let tsn = self.ring.base();
            let Some(mut chunk) = self.ring.pop_front() else { break };
            outcome.cum_advanced = true;
            match chunk.state {
                ChunkState::Doomed if self.was_skipped(tsn) => self.forget_doomed(&chunk),
                ChunkState::InFlight | ChunkState::Marked(_) | ChunkState::Doomed => {
                    self.newly_acked(tsn, &chunk, paths, scratch, outcome, config);
                }
                _ => {}
            }
            if !chunk.state.is_given_up() && chunk.state != ChunkState::NrAcked {
                outcome.freed += self.free_payload(&mut chunk, paths);
            }
            if let Some(partial) = self.partial.as_mut().filter(|_| chunk.partial) {
                partial.acked(chunk.message, tsn);
            }
            if chunk.flags.ending && !chunk.flags.unordered {
                self.queue.ordered_done(chunk.stream);
            }
        }
        if outcome.cum_advanced {
            self.ring.trim();
            self.paths.iter_mut().for_each(TxPath::trim);
            self.acked.advance(self.ring.base());
            self.nr_acked.advance(self.ring.base());
        }
    }

    fn gap_ack_pass(
        &mut self,
        first_word: u64,
        paths: &mut PathSet,
        scratch: &mut Scratch,
        outcome: &mut SackOutcome,
        config: &AssocConfig,
    ) {
        for i in 0..scratch.bits.len() {
            let word = first_word + i as u64;
            let reported = scratch.bits.get(i).copied().unwrap_or(0);
            let mut new = reported & !self.acked.word(word);
            while new != 0 {
                let tsn = word * 64 + u64::from(new.trailing_zeros());
                new &= new - 1;
                self.gap_acked(tsn, paths, scratch, outcome, config);
            }
            let nr = scratch.nr_bits.get(i).copied().unwrap_or(0);
            let mut new = nr & !self.nr_acked.word(word);
            while new != 0 {
                let tsn = word * 64 + u64::from(new.trailing_zeros());
                new &= new - 1;
                outcome.freed += self.nr_acked(tsn, paths);
            }
        }
    }

    fn gap_acked(
        &mut self,
        tsn: u64,
        paths: &mut PathSet,
        scratch: &mut Scratch,
        outcome: &mut SackOutcome,
        config: &AssocConfig,
    ) {
        // A block may reach below the new base when it overlaps the cum-ack.
        let Some(chunk) = self.ring.get_mut(tsn) else { return };
        let before = chunk.state;
        if !before.is_under_way() && !matches!(before, ChunkState::Marked(_)) {
            return;
        }
        // Bookkeeping wants the state before; the ring the one after.
        let copies = core::mem::take(&mut chunk.copies);
        let copy = TxChunk { payload: bytes::Bytes::new(), copies, ..*chunk };
        if before == ChunkState::Doomed {
            chunk.state = ChunkState::Abandoned;
        } else {
            chunk.state = ChunkState::GapAcked;
            self.acked.insert(tsn);
        }
        self.newly_acked(tsn, &copy, paths, scratch, outcome, config);
    }

    /// An NR-ack frees the payload (algorithms of S0's NR-SACK): once, for good. Gives the freed bytes.
    fn nr_acked(&mut self, tsn: u64, paths: &mut PathSet) -> u64 {
        let Some(chunk) = self.ring.get_mut(tsn) else { return 0 };
        if chunk.state != ChunkState::GapAcked {
            return 0;
        }
        chunk.state = ChunkState::NrAcked;
        let payload = core::mem::take(&mut chunk.payload);
        drop(payload);
        let (stream, path, bytes) = (chunk.stream, chunk.path, u64::from(chunk.bytes));
        self.nr_acked.insert(tsn);
        self.release(stream, path, bytes, paths)
    }

    fn free_payload(&mut self, chunk: &mut TxChunk, paths: &mut PathSet) -> u64 {
        self.release(chunk.stream, chunk.path, u64::from(chunk.bytes), paths)
    }

    pub(super) fn release(
        &mut self,
        stream: crate::ids::StreamId,
        path: PathId,
        bytes: u64,
        paths: &mut PathSet,
    ) -> u64 {
        self.queue.freed(stream, bytes);
        self.used -= bytes;
        if let Some(view) = paths.view_mut(path) {
            view.queued -= bytes;
        }
        bytes
    }

    /// Books a chunk that this SACK acknowledges for the first time; `chunk.state` is the one before.
    fn newly_acked(
        &mut self,
        tsn: u64,
        chunk: &TxChunk,
        paths: &mut PathSet,
        scratch: &mut Scratch,
        outcome: &mut SackOutcome,
        config: &AssocConfig,
    ) {
        let (d, size) = (chunk.path, chunk.size());
        outcome.news = true;
        outcome.fast_retransmission_acked |= chunk.fast_retransmitted;
        match chunk.state {
            ChunkState::Marked(_) => {
                if let Some(list) = self.paths.get_mut(d.index()) {
                    list.marked.remove(&tsn);
                }
            }
            ChunkState::Doomed => self.forget_doomed(chunk),
            _ => {
                self.window.left(chunk.bytes);
                if let Some(view) = paths.view_mut(d) {
                    view.outstanding -= size;
                    view.outstanding_payload -= u64::from(chunk.bytes);
                }
            }
        }
        let delivery = self.delivery(scratch.now, chunk, paths);
        if !chunk.copies.is_empty() {
            self.release_copies(tsn, chunk, delivery, paths, scratch);
        }
        self.recovery_acked(tsn, chunk, delivery, scratch);
        if let Some(list) = self.paths.get_mut(delivery.path.index()) {
            list.heard = scratch.now;
        }
        let Some(p) = scratch.paths.get_mut(delivery.path.index()) else { return };
        p.acked = true;
        if chunk.rescheduled {
            // What was moved out of turn says nothing of the window.
            return;
        }
        if chunk.state != ChunkState::Doomed {
            // Windows never grow by what was given up (RFC 3758 section 3.5, A2).
            p.newly_acked += size;
        }
        if delivery.path != d {
            // It is new to this path's window; its order among this path's own TSNs means nothing.
            p.new_pseudo_cumack = true;
            return;
        }
        p.acked_once |= chunk.sends == 1 && delivery.certain;
        p.acked_here_alone |= !chunk.moved && delivery.certain;
        let pseudo = match config.cmt.cuc {
            Cuc::Off => false,
            Cuc::V1 => Some(tsn) == lower(p.pseudo_once, p.pseudo_again),
            Cuc::V2 => Some(tsn) == p.pseudo_once || Some(tsn) == p.pseudo_again,
        };
        p.new_pseudo_cumack |= pseudo;
        // An ack of a chunk that was moved here says nothing about the order on this path.
        if !chunk.moved && delivery.certain {
            p.lowest_newack = Some(p.lowest_newack.map_or(tsn, |t| t.min(tsn)));
            p.highest_newack = Some(p.highest_newack.map_or(tsn, |t| t.max(tsn)));
            p.newack_sent = p.newack_sent.max(chunk.sent);
        }
    }

    /// Whether the SACK has as many blocks as the peer ever writes: there may be more to report than it had room for (RFC 9260 section 3.3.4
    /// leaves the length of the list to the receiver).
    fn is_full(&mut self, sack: &SackInfo<'_>) -> bool {
        let blocks = sack.gaps.len() + sack.nr_gaps.len();
        self.most_blocks = self.most_blocks.max(blocks);
        blocks > 0 && blocks == self.most_blocks
    }

    /// Whether the SACK withdraws a TSN that was gap-acked before: leaves it out although there was room for it.
    fn withdraws(
        &mut self,
        sack: &SackInfo<'_>,
        first_word: u64,
        outcome: &SackOutcome,
        scratch: &mut Scratch,
    ) -> bool {
        scratch.told_to = u64::MAX;
        if self.withdrawn_words(first_word, scratch).next().is_none() {
            return false;
        }
        if outcome.impossible_blocks > 0 {
            // Who names what cannot be does not tell by his silence, either.
            scratch.told_to = self.told_to;
            return false;
        }
        // What is missing at the end of a full list made room for something new, in this SACK or in one before.
        let last = last_reported(sack);
        if scratch.full && (outcome.news || last >= self.told_to) {
            scratch.told_to = last;
        }
        self.withdrawn_words(first_word, scratch).next().is_some()
    }

    /// (word index, bits) of TSNs that were gap-acked, are not NR-acked and are left out of this SACK.
    fn withdrawn_words(
        &self,
        first_word: u64,
        scratch: &Scratch,
    ) -> impl Iterator<Item = (u64, u64)> {
        let told_to = scratch.told_to;
        self.acked.word_range().filter_map(move |word| {
            let reported = word.checked_sub(first_word).and_then(|i| scratch.bits.get(i as usize));
            let told = match told_to.checked_sub(64 * word) {
                Some(bit @ 0..63) => (2 << bit) - 1,
                Some(_) => u64::MAX,
                None => 0,
            };
            let acked = self.acked.word(word) & !self.nr_acked.word(word);
            let gone = acked & !reported.copied().unwrap_or(0) & told;
            (gone != 0).then_some((word, gone))
        })
    }

    fn withdrawn(&self, first_word: u64, scratch: &mut Scratch) {
        let mut tsns = core::mem::take(&mut scratch.tsns);
        tsns.clear();
        for (word, mut bits) in self.withdrawn_words(first_word, scratch) {
            while bits != 0 {
                tsns.push(word * 64 + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        scratch.tsns = tsns;
    }

    /// The peer reneged: these TSNs are in flight again, with one miss indication (RFC 9260 section 6.2.1 D).
    fn renege_pass(
        &mut self,
        now: Time,
        first_word: u64,
        paths: &mut PathSet,
        scratch: &mut Scratch,
    ) -> u64 {
        self.withdrawn(first_word, scratch);
        for &tsn in &scratch.tsns {
            self.acked.remove(tsn);
            let Some(chunk) = self.ring.get_mut(tsn) else { continue };
            chunk.state = ChunkState::InFlight;
            chunk.missing = 1;
            chunk.reneged = true;
            let (path, size, bytes) = (chunk.path, chunk.size(), chunk.bytes);
            if let (Some(list), Some(chunk)) =
                (self.paths.get_mut(path.index()), self.ring.get(tsn))
            {
                list.reneged(tsn, chunk);
            }
            self.window.sent(bytes);
            if let Some((view, own)) = paths.both_mut(path) {
                view.outstanding += size;
                view.outstanding_payload += u64::from(bytes);
                own.cancel_probe(tsn);
                if own.t3 == Time::MAX {
                    own.t3 = now + view.rto;
                }
            }
        }
        for (view, list) in paths.views.iter().zip(&mut self.paths) {
            list.tidy(&self.ring, view.id);
        }
        scratch.tsns.len() as u64
    }

    /// In doubt whether the peer reneged: T3 of the paths concerned must run, so that a real reneging cannot stall us.
    fn keep_watch(
        &mut self,
        now: Time,
        first_word: u64,
        paths: &mut PathSet,
        scratch: &mut Scratch,
    ) {
        self.withdrawn(first_word, scratch);
        for &tsn in &scratch.tsns {
            let Some(path) = self.ring.get(tsn).map(|c| c.path) else { continue };
            let Some((view, own)) = paths.both_mut(path) else { continue };
            if own.t3 == Time::MAX {
                own.t3 = now + view.rto;
            }
        }
    }

    /// Fast recovery ends when no TSN up to the exit point, last sent on the path, is unacknowledged: by the cum-ack or by
    /// the path's pseudo-cum-acks alike.
    fn leave_recoveries(&mut self, paths: &mut PathSet) {
        for (view, list) in paths.views.iter_mut().zip(&mut self.paths) {
            if list.recovery_exit.is_none() && !list.recovery.is_after_timeout() {
                continue;
            }
            let once = list.lowest(&self.ring, view.id, Class::Once);
            let again = list.lowest(&self.ring, view.id, Class::Again);
            let lowest = lower(once, again);
            list.recovery.leave_timeout(lowest);
            let over = |exit: u64| lowest.is_none_or(|tsn| tsn > exit);
            if list.recovery_exit.is_some_and(over) {
                list.recovery_exit = None;
                view.in_recovery = false;
                list.recovery.left();
            }
        }
    }

    /// The path's own SACK gives the sample (the rule of the INET model), also when another one overtook it.
    fn sample_rtt(
        &self,
        now: Time,
        arrival: PathId,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        config: &AssocConfig,
        scratch: &mut Scratch,
    ) {
        for (view, path) in paths.iter_mut() {
            let Some(probe) = path.rtt_probe else { continue };
            if !self.covers(sack, probe.tsn) {
                continue;
            }
            if config.cmt.rtt_same_path && view.id != arrival {
                let since = probe.acked_elsewhere.unwrap_or(now);
                // The path's own SACKs may never come; measure the next chunk then.
                let late = now.since(since) > path.rto_estimate;
                path.rtt_probe = (!late).then_some(probe_acked(probe, since));
                continue;
            }
            path.rtt_probe = None;
            if let Some(p) = scratch.paths.get_mut(view.id.index()) {
                p.rtt = Some(now.since(probe.sent));
            }
        }
    }

    fn covers(&self, sack: &SackInfo<'_>, tsn: u64) -> bool {
        if tsn <= sack.cum {
            return true;
        }
        let offset = tsn - sack.cum;
        let inside = |b: GapBlock| u64::from(b.start) <= offset && offset <= u64::from(b.end);
        // A probe that is outstanding cannot be in a block: spare the search.
        let outstanding = self.ring.get(tsn).is_some_and(|c| c.state == ChunkState::InFlight);
        !outstanding && sack.gaps.iter().chain(sack.nr_gaps.iter()).any(inside)
    }

    /// T3-rtx per path (RFC 9260 section 6.3.2): off when nothing is in flight, restarted when the chunk that was sent first
    /// was acknowledged. Acks of other paths change nothing.
    fn update_t3(&mut self, now: Time, paths: &mut PathSet, scratch: &Scratch) {
        for ((view, path), (list, before)) in
            paths.iter_mut().zip(self.paths.iter_mut().zip(&scratch.paths))
        {
            let idle = view.outstanding == 0 && list.doomed == 0;
            if idle && self.forward.as_ref().is_none_or(|f| !f.is_watched_on(view.id)) {
                path.t3 = Time::MAX;
            } else if idle {
                // T3 watches a FORWARD-TSN (RFC 3758 section 3.5, C5).
            } else if path.t3 == Time::MAX
                || (before.acked || before.copy_left)
                    && list.earliest_sent(&self.ring, view.id) != before.earliest_sent
            {
                path.t3 = now + view.rto;
            }
        }
    }
}

pub(super) fn lower(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

const fn probe_acked(probe: crate::path::Probe, at: Time) -> crate::path::Probe {
    crate::path::Probe { acked_elsewhere: Some(at), ..probe }
}

/// The highest TSN that a SACK reports. Beyond it, a full list tells nothing. Real reneging there comes to light all the same: the TSN after
/// the cum-ack is missing, so T3-rtx watches it, and in the end what was withdrawn is missing below a block, or there are fewer of them.
fn last_reported(sack: &SackInfo<'_>) -> u64 {
    let ends = sack.gaps.iter().chain(sack.nr_gaps.iter()).map(|block| block.end);
    sack.cum + u64::from(ends.max().unwrap_or(0))
}

/// Turns the blocks into bits, from word `first_word` of the TSN space on. Blocks may overlap, touch or be unsorted; gives how many
/// cannot be true and were passed over. `None` if something unsent is acknowledged (`highest` is the last TSN sent).
fn collect_bits(
    sack: &SackInfo<'_>,
    first_word: u64,
    highest: u64,
    scratch: &mut Scratch,
) -> Option<u32> {
    scratch.bits.clear();
    scratch.nr_bits.clear();
    let unacked = highest.checked_sub(sack.cum)?;
    if sack.gaps.is_empty() && sack.nr_gaps.is_empty() {
        return Some(0);
    }
    let words = (highest / 64 + 1).saturating_sub(first_word) as usize;
    scratch.bits.resize(words, 0);
    scratch.nr_bits.resize(words, 0);
    // The caller has seen that the cum-ack does not lie below the one before, from which the words count.
    let base = sack.cum.wrapping_sub(64 * first_word);
    let impossible = set_bits(&mut scratch.bits, base, unacked, sack.gaps)?
        + set_bits(&mut scratch.nr_bits, base, unacked, sack.nr_gaps)?;
    for (all, nr) in scratch.bits.iter_mut().zip(&scratch.nr_bits) {
        *all |= nr;
    }
    Some(impossible)
}

/// Sets the bits of the blocks, which are offsets from bit `base`. Gives how many blocks end before they begin, or leave no gap above the
/// cum-ack: such a one says nothing that can be relied on, and is passed over. `None` if one acknowledges what was never sent.
fn set_bits(bits: &mut [u64], base: u64, unacked: u64, blocks: GapBlocks<'_>) -> Option<u32> {
    let mut set = |word: u64, mask: u64| {
        if let Some(w) = bits.get_mut(word as usize) {
            *w |= mask;
        }
    };
    let mut impossible = 0;
    for block in blocks.iter() {
        let start = base.wrapping_add(block.start.into());
        // Most are a single TSN while a fast and a slow path carry data in turn.
        let single = block.start == block.end && block.start >= 2;
        if single && u64::from(block.start) <= unacked {
            set(start / 64, 1 << (start % 64));
            continue;
        }
        if block.start <= block.end && u64::from(block.end) > unacked {
            return None;
        }
        if !block.is_well_formed() {
            impossible += 1;
            continue;
        }
        let end = base.wrapping_add(block.end.into());
        let (from_start, to_end) = (u64::MAX << (start % 64), u64::MAX >> (63 - end % 64));
        if start / 64 == end / 64 {
            set(start / 64, from_start & to_end);
            continue;
        }
        set(start / 64, from_start);
        (start / 64 + 1..end / 64).for_each(|word| set(word, u64::MAX));
        set(end / 64, to_end);
    }
    Some(impossible)
}

#[cfg(test)]
mod tests {
    use polypath_wire::ItemsBuf;
    use proptest::prelude::*;

    use super::*;

    /// The TSNs that `bits` stand for.
    fn members(bits: &[u64], first_word: u64) -> Vec<u64> {
        let tsns =
            (0..64 * bits.len() as u64).filter(|t| bits[*t as usize / 64] >> (t % 64) & 1 != 0);
        tsns.map(|t| 64 * first_word + t).collect()
    }

    proptest! {
        #[test]
        fn blocks_in_any_order_become_their_tsns(
            cum in 6_400u64..6_600,
            behind in 0u64..200,
            blocks in proptest::collection::vec((0u16..400, -20i32..150), 0..20),
            nr in proptest::collection::vec((0u16..400, -20i32..150), 0..20),
            unacked in 0u64..600,
        ) {
            let block = |&(start, more): &(u16, i32)| {
                GapBlock { start, end: start.saturating_add_signed(more as i16) }
            };
            let list = |blocks: &[(u16, i32)]| {
                blocks.iter().map(block).collect::<ItemsBuf<GapBlock, 4>>()
            };
            let tsns = |blocks: &[(u16, i32)]| {
                let mut all: Vec<u64> = blocks.iter().map(block).filter(|b| b.start >= 2)
                    .flat_map(|b| cum + u64::from(b.start)..=cum + u64::from(b.end))
                    .collect();
                all.sort_unstable();
                all.dedup();
                all
            };
            let (gaps, nr_gaps) = (list(&blocks), list(&nr));
            let sack = SackInfo {
                cum,
                a_rwnd: 0,
                gaps: gaps.as_items(),
                nr_gaps: nr_gaps.as_items(),
                duplicates: Tsns::EMPTY,
                count: 1,
                cum_only: false,
            };
            let first_word = (cum + 1 - behind) / 64;
            let mut scratch = Scratch::default();
            let impossible = collect_bits(&sack, first_word, cum + unacked, &mut scratch);
            let both: Vec<_> = blocks.iter().chain(&nr).copied().collect();
            let unsent = both.iter().map(block).any(|b| b.start <= b.end && u64::from(b.end) > unacked);
            let count = both.iter().map(block).filter(|b| !b.is_well_formed()).count() as u32;
            prop_assert_eq!(impossible, (!unsent).then_some(count));
            if !unsent {
                prop_assert_eq!(members(&scratch.bits, first_word), tsns(&both));
                prop_assert_eq!(members(&scratch.nr_bits, first_word), tsns(&nr));
            }
        }
    }
}
