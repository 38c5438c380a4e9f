//! What a SACK or NR-SACK does to the chunks in flight, in the order of operations that CMT needs
//! (Iyengar et al. 2006): cum-ack pass, gap-ack pass, reneging, then loss recovery (spurious
//! timeouts, miss indications by SFR and DAC, losses by their times, fast recovery exits), RTT, the
//! peer's window, T3. Congestion windows follow in `association::sack`, which knows the congestion
//! control.

use core::num::NonZeroU64;

use polypath_wire::GapBlock;

use super::gap_blocks::{collect_bits, last_reported, reported_to};
use super::outstanding::{ChunkState, TxChunk};
use super::sack_outcome::{PathOutcome, SackInfo, SackOutcome, SackVerdict};
use super::sending_half::Sender;
use super::types::{Delivery, lower};
use crate::config::{AssocConfig, Cuc};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::Time;

impl Sender {
    /// Processes a SACK that arrived on `arrival`. `newest` is the path of the SACK that last
    /// brought news. Once the outcome is used, [`recycle`](Self::recycle) takes it back, so that no
    /// SACK allocates memory.
    pub(crate) fn on_sack(
        &mut self,
        now: Time,
        arrival: PathId,
        newest: PathId,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        config: &AssocConfig,
    ) -> SackOutcome {
        let mut outcome = SackOutcome::new(core::mem::take(&mut self.outcomes));
        outcome.verdict =
            self.process_sack(now, arrival, newest, sack, paths, config, &mut outcome);
        outcome
    }

    /// Takes the memory of an outcome back for the next SACK.
    pub(crate) fn recycle(&mut self, outcome: SackOutcome) {
        self.outcomes = outcome.paths;
    }

    #[expect(clippy::too_many_arguments, reason = "on_sack with the place of its result")]
    fn process_sack(
        &mut self,
        now: Time,
        arrival: PathId,
        newest: PathId,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        config: &AssocConfig,
        outcome: &mut SackOutcome,
    ) -> SackVerdict {
        self.note_paths_before_sack(paths, outcome);
        self.recovery.sack_path = arrival;
        let duplicates = sack.duplicates.iter();
        self.recovery.on_duplicates(now, self.outstanding.cum_ack(), duplicates.clone());
        self.credit_duplicates(now, duplicates, outcome, paths);
        if sack.cum < self.outstanding.cum_ack() {
            self.sample_rtt(now, arrival, sack, paths, config, outcome);
            return SackVerdict::Stale;
        }
        let first_word = self.outstanding.base() / 64;
        match collect_bits(sack, first_word, self.highest_sent(), &mut self.reported) {
            Some(impossible) => outcome.impossible_blocks = impossible,
            None => return SackVerdict::Violation,
        }
        if !sack.gaps.is_empty() {
            outcome.highest_reported = last_reported(sack);
        }
        self.cum_ack_pass(now, sack, paths, outcome, config);
        let t3_by_tsn = config.reproduction.ns2.t3_by_tsn;
        if config.reproduction.ns2.watches_tsns() {
            self.watch_lowest(sack, first_word, paths, outcome);
        }
        self.gap_ack_pass(now, first_word, paths, outcome, config);
        if config.reproduction.ns2.stale_pseudo_cum_acks {
            outcome.paths.iter_mut().for_each(|o| o.new_pseudo_cumack = o.expected_acked);
        }
        outcome.news |= outcome.cum_advanced;
        let full = self.is_block_list_full(sack) || config.sack.thinning;
        let omissions = self.judge_omissions(sack, first_word, full, outcome);
        if omissions.withdraws {
            // A SACK may have been overtaken by a newer one on a faster path. It is the newest if
            // it brings news, or if it follows the newest along the same path; else its silence
            // proves nothing.
            let ns2 = &config.reproduction.ns2;
            if !outcome.news && arrival != newest && !ns2.believes_overtaken_sacks {
                self.keep_watch(now, first_word, omissions, paths);
                self.sample_rtt(now, arrival, sack, paths, config, outcome);
                return SackVerdict::Stale;
            }
            outcome.reneged = self.renege_pass(now, first_word, omissions, paths);
        }
        if !sack.cum_only {
            self.told_to = omissions.told_to;
        }
        let (count, recovery) = (sack.count, &mut self.recovery);
        recovery.note_reported(reported_to(sack, full));
        recovery.on_sack(now, count, full, outcome, &mut self.outstanding, paths, config);
        self.sample_rtt(now, arrival, sack, paths, config, outcome);
        self.sample_delivery_rates(now, paths, outcome);
        if !sack.cum_only {
            self.outstanding.window_mut().advertise(sack.a_rwnd);
        }
        if t3_by_tsn {
            self.outstanding.update_t3_by_tsn(now, paths, &mut outcome.paths);
        } else {
            let watched = self.forward.watched_path();
            self.outstanding.update_t3(now, paths, &outcome.paths, watched);
        }
        self.recovery.arm_probes(now, outcome, &mut self.outstanding, paths);
        SackVerdict::Taken
    }

    /// Notes where every path stands before the SACK.
    fn note_paths_before_sack(&mut self, paths: &PathSet, outcome: &mut SackOutcome) {
        for view in &paths.views {
            self.recovery.note_flight(view.id, view.outstanding);
            outcome.paths.push(self.outstanding.begin_sack(view));
        }
    }

    fn cum_ack_pass(
        &mut self,
        now: Time,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        outcome: &mut SackOutcome,
        config: &AssocConfig,
    ) {
        while self.outstanding.base() <= sack.cum {
            let tsn = self.outstanding.base();
            let Some(chunk) = self.outstanding.ack_lowest(paths) else { break };
            outcome.cum_advanced = true;
            outcome.passed_retransmission |=
                chunk.fast_retransmitted || config.cmt.cuc != Cuc::Off && chunk.transmissions > 1;
            if config.reproduction.ns2.watches_tsns() {
                let alone = config.cmt.cuc == Cuc::Off;
                let watch = self.ns2.get_or_insert_default();
                watch.cum_ack_passed(tsn, &chunk, alone, outcome);
            }
            match chunk.state() {
                ChunkState::AbandonedInFlight if self.forward.has_skipped(tsn) => {}
                ChunkState::InFlight | ChunkState::Marked(_) | ChunkState::AbandonedInFlight => {
                    self.note_newly_acked(now, tsn, &chunk, false, paths, outcome, config);
                }
                _ => {}
            }
            if chunk.holds_buffer() {
                outcome.freed += self.release_payload(chunk.stream, u64::from(chunk.bytes));
            }
            if let Some(partial) =
                self.partial_reliability.as_mut().filter(|_| chunk.may_be_abandoned)
            {
                partial.note_cum_acked(chunk.message, tsn);
            }
            if chunk.flags.ending && !chunk.flags.unordered {
                self.queue.note_ordered_acked(chunk.stream);
            }
        }
        if outcome.cum_advanced {
            self.outstanding.trim();
        }
    }

    fn gap_ack_pass(
        &mut self,
        now: Time,
        first_word: u64,
        paths: &mut PathSet,
        outcome: &mut SackOutcome,
        config: &AssocConfig,
    ) {
        for i in 0..self.reported.bits.len() {
            let word = first_word + i as u64;
            let reported = self.reported.bits.get(i).copied().unwrap_or(0);
            let mut new = reported & !self.outstanding.gap_acked().word(word);
            while new != 0 {
                let tsn = word * 64 + u64::from(new.trailing_zeros());
                new &= new - 1;
                if let Some(chunk) = self.outstanding.gap_ack(tsn, paths) {
                    self.note_newly_acked(now, tsn, &chunk, true, paths, outcome, config);
                }
            }
            let nr = self.reported.nr_bits.get(i).copied().unwrap_or(0);
            let mut new = nr & !self.outstanding.nr_acked().word(word);
            while new != 0 {
                let tsn = word * 64 + u64::from(new.trailing_zeros());
                new &= new - 1;
                if let Some((stream, bytes)) = self.outstanding.nr_ack(tsn, paths) {
                    outcome.freed += self.release_payload(stream, bytes);
                }
            }
        }
    }

    /// Notes what a chunk says that this SACK acknowledges for the first time; it left the flight,
    /// and its state is the one before. `above`: a gap ack block did.
    #[expect(clippy::too_many_arguments, reason = "a chunk, and all that its ack may change")]
    fn note_newly_acked(
        &mut self,
        now: Time,
        tsn: u64,
        chunk: &TxChunk,
        above: bool,
        paths: &mut PathSet,
        outcome: &mut SackOutcome,
        config: &AssocConfig,
    ) {
        outcome.news = true;
        outcome.fast_retransmission_acked |= chunk.fast_retransmitted;
        let delivery = self.find_delivery(now, chunk, paths);
        if !chunk.copies.is_empty() {
            self.note_copies_acked(now, tsn, chunk, delivery, paths, outcome);
        }
        note_delivered(now, chunk, delivery, paths);
        self.recovery.on_acked(now, tsn, chunk, delivery, outcome);
        let Some(p) = outcome.path_mut(delivery.path) else { return };
        p.acked = true;
        p.gap_acked |= above;
        if chunk.rescheduled {
            // What was moved out of turn says nothing of the window.
            return;
        }
        if chunk.state() != ChunkState::AbandonedInFlight {
            // Windows never grow by what was abandoned (RFC 3758 section 3.5, A2).
            p.newly_acked += chunk.size();
        }
        if delivery.path != chunk.path {
            // It is new to this path's window; its order among this path's own TSNs means nothing.
            p.new_pseudo_cumack = true;
            return;
        }
        p.acked_once |= chunk.transmissions == 1 && delivery.certain;
        p.acked_here_alone |= !chunk.moved && delivery.certain;
        p.new_pseudo_cumack |= p.is_pseudo_cum_ack(tsn, config.cmt.cuc);
        if config.reproduction.ns2.misses_by_gap_acks {
            p.lowest_newack = p.lowest_newack.or(NonZeroU64::new(tsn));
            let reported = NonZeroU64::new(tsn).filter(|_| above);
            p.highest_newack = p.highest_newack.max(reported);
            let passed = (!above).then_some(tsn);
            outcome.highest_cum_acked = outcome.highest_cum_acked.max(passed);
            return;
        }
        // An ack of a chunk that was moved here says nothing about the order on this path.
        if !chunk.moved && delivery.certain {
            let tsn = NonZeroU64::new(tsn);
            p.lowest_newack = p.lowest_newack.into_iter().chain(tsn).min();
            p.highest_newack = p.highest_newack.max(tsn);
            p.newack_sent = p.newack_sent.max(chunk.sent);
        }
    }

    /// Delivery-rate samples of the paths that delivered something.
    fn sample_delivery_rates(&self, now: Time, paths: &mut PathSet, outcome: &mut SackOutcome) {
        for (view, path) in paths.iter_mut() {
            let Some(own) = outcome.path_mut(view.id).filter(|own| own.acked) else { continue };
            own.rate = path.delivery_rate.take_sample(now, own.lost_before, view);
            // What is marked may turn out to be delivered.
            if let Some((_, earliest)) = own.earliest_sent
                && !self.outstanding.has_marked_on(view.id)
            {
                path.delivery_rate.forget_before(earliest);
            }
        }
    }

    /// The path's own SACK gives the sample (the rule of the INET model), also when another one
    /// overtook it.
    fn sample_rtt(
        &self,
        now: Time,
        arrival: PathId,
        sack: &SackInfo<'_>,
        paths: &mut PathSet,
        config: &AssocConfig,
        outcome: &mut SackOutcome,
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
            if let Some(p) = outcome.path_mut(view.id) {
                p.rtt = Some(now.since(probe.sent));
            }
        }
    }

    /// Whether the SACK acknowledges `tsn`.
    fn covers(&self, sack: &SackInfo<'_>, tsn: u64) -> bool {
        if tsn <= sack.cum {
            return true;
        }
        let offset = tsn - sack.cum;
        let inside = |b: GapBlock| u64::from(b.start) <= offset && offset <= u64::from(b.end);
        // A probe that is outstanding cannot be in a block: spare the search.
        let outstanding = self.outstanding.get(tsn).is_some_and(TxChunk::is_in_flight);
        !outstanding && sack.gaps.iter().chain(sack.nr_gaps.iter()).any(inside)
    }
}

/// Credits the path that delivered a chunk. Where that may have been another one (a retransmission
/// elsewhere, a copy), no path is: a rate must not be credited with what another path carried. What
/// was reneged on was credited before.
fn note_delivered(now: Time, chunk: &TxChunk, delivery: Delivery, paths: &mut PathSet) {
    let elsewhere = chunk.moved || chunk.copy_given_up;
    let certain = delivery.certain && !elsewhere && !chunk.reneged;
    if let Some((view, path)) = paths.both_mut(delivery.path).filter(|_| certain) {
        path.delivery_rate.note_delivered(now, delivery.sent, chunk.size(), view);
    }
}

impl PathOutcome {
    /// CUC (Iyengar et al. 2006): whether `tsn` was the path's lowest TSN of its class, so that its
    /// acknowledgement moves a pseudo-cum-ack.
    fn is_pseudo_cum_ack(&self, tsn: u64, cuc: Cuc) -> bool {
        let once = self.pseudo_never_retransmitted.map(NonZeroU64::get);
        let again = self.pseudo_retransmitted.map(NonZeroU64::get);
        match cuc {
            Cuc::Off => false,
            Cuc::V1 => Some(tsn) == lower(once, again),
            Cuc::V2 => Some(tsn) == once || Some(tsn) == again,
        }
    }
}

const fn probe_acked(probe: crate::path::Probe, at: Time) -> crate::path::Probe {
    crate::path::Probe { acked_elsewhere: Some(at), ..probe }
}
