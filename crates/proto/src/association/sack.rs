//! SACKs and NR-SACKs: from the wire to windows, timers and events, in the order that CMT needs.

use polypath_wire::{GapBlocks, NrSackChunk, SACKS_ARE_SPACED, SackChunk, Tsn, Tsns, dac_count};

use super::Association;
use crate::config::Cuc;
use crate::event::Event;
use crate::ids::PathId;
use crate::policy::{AckedInfo, LossInfo, Trigger};
use crate::sender::{Losses, SackInfo, SackOutcome, SackVerdict};
use crate::time::Time;
use crate::trace::TraceEvent;
use crate::tsn_map::extend;
use crate::view::LossKind;

/// Cause code of ABORTs for impossible acknowledgements (RFC 9260 section 3.3.10.13).
const PROTOCOL_VIOLATION: u16 = 13;

impl Association {
    /// A SACK chunk came on `arrival`.
    pub(crate) fn on_sack(&mut self, now: Time, arrival: PathId, sack: &SackChunk<'_>) {
        if self.tx.is_before_jump(sack.cumulative_tsn) {
            return;
        }
        let blocks = u16::try_from(sack.gap_blocks.len()).unwrap_or(u16::MAX);
        self.tx.most_gap_blocks = self.tx.most_gap_blocks.max(blocks);
        let info = SackInfo {
            a_rwnd: sack.a_rwnd,
            gaps: sack.gap_blocks,
            duplicates: sack.duplicates,
            count: self.packet_count(sack.flags),
            cum_only: false,
            ..self.cum_ack_alone(sack.cumulative_tsn)
        };
        self.process_sack(now, arrival, &info);
    }

    /// An NR-SACK chunk came on `arrival`.
    pub(crate) fn on_nr_sack(&mut self, now: Time, arrival: PathId, sack: &NrSackChunk<'_>) {
        if self.tx.is_before_jump(sack.cumulative_tsn) {
            return;
        }
        let is_spaced = sack.flags & SACKS_ARE_SPACED != 0;
        self.sacks_are_spaced = is_spaced && self.caps.agreed.sack_thinning;
        self.tx.peer_sends_nr_sacks = true;
        let info = SackInfo {
            a_rwnd: sack.a_rwnd,
            gaps: sack.gap_blocks,
            nr_gaps: sack.nr_gap_blocks,
            duplicates: sack.duplicates,
            count: self.packet_count(sack.flags),
            cum_only: false,
            ..self.cum_ack_alone(sack.cumulative_tsn)
        };
        self.process_sack(now, arrival, &info);
    }

    /// The cum-ack that a SHUTDOWN carries. False if it was impossible and the association is gone.
    pub(crate) fn cumulative_ack(&mut self, now: Time, arrival: PathId, cum: Tsn) -> bool {
        let info = self.cum_ack_alone(cum);
        self.process_sack(now, arrival, &info)
    }

    /// A cum-ack without anything else.
    const fn cum_ack_alone(&self, cum: Tsn) -> SackInfo<'static> {
        SackInfo {
            cum: extend(self.tx.cum_ack(), cum),
            a_rwnd: 0,
            gaps: GapBlocks::EMPTY,
            nr_gaps: GapBlocks::EMPTY,
            duplicates: Tsns::EMPTY,
            count: 1,
            cum_only: true,
        }
    }

    /// DAC: the packets that a SACK covers, 0 if it does not tell; 1 without DAC.
    const fn packet_count(&self, flags: u8) -> u8 {
        if self.caps.agreed.dac { dac_count(flags) } else { 1 }
    }

    fn process_sack(&mut self, now: Time, arrival: PathId, info: &SackInfo<'_>) -> bool {
        self.stats.sacks_received += u64::from(!info.cum_only);
        self.halve_idle_windows(now);
        for own in self.paths.iter_mut().filter_map(|(_, path)| path.ns2.as_mut()) {
            own.resent_packets = 0;
        }
        let newest = self.newest_sack_path;
        let outcome = self.tx.on_sack(now, arrival, newest, info, &mut self.paths, &self.config);
        let lives_on = self.apply_sack(now, arrival, info, &outcome);
        self.paths.sack_heard(now);
        self.tx.recycle(outcome);
        self.shrink_after_exchange();
        lives_on
    }

    /// What the outcome of a SACK means to RTOs, windows, paths and the application. False if the
    /// association is gone.
    fn apply_sack(
        &mut self,
        now: Time,
        arrival: PathId,
        info: &SackInfo<'_>,
        outcome: &SackOutcome,
    ) -> bool {
        if outcome.verdict == SackVerdict::Violation {
            self.protocol_violation(now, PROTOCOL_VIOLATION, "acknowledges TSNs never sent");
            return false;
        }
        self.note_impossible_blocks(now, arrival, outcome.impossible_blocks);
        self.sack_in_shutdown(now);
        self.take_rtt_samples(now, outcome);
        if outcome.verdict == SackVerdict::Stale {
            return true;
        }
        if outcome.news {
            self.newest_sack_path = arrival;
            self.limits.note_progress(now);
            self.prove_key();
        }
        // A peer that answers probes of its shut window is reachable, although it acknowledges
        // nothing (RFC 9260 section 6.1 A): those that get lost in an hour do not add up.
        if outcome.news || self.tx.outstanding.window().is_shut_by_living_peer() {
            self.errors = 0;
        }
        self.stats.reneged += outcome.reneged;
        self.update_windows(now, arrival, outcome);
        self.note_living_paths(now, outcome);
        if outcome.news {
            self.watch_silence(now, outcome);
        }
        self.trace_sack(now, arrival, info);
        self.after_sack(now, outcome);
        true
    }

    /// Gap ack blocks that cannot be true are counted, and end nothing: the rest of the SACK is
    /// used.
    fn note_impossible_blocks(&mut self, now: Time, path: PathId, blocks: u32) {
        if blocks > 0 {
            self.stats.impossible_gap_blocks += u64::from(blocks);
            self.tracer.emit(now, || TraceEvent::ImpossibleBlocks { path, blocks });
        }
    }

    fn take_rtt_samples(&mut self, now: Time, outcome: &SackOutcome) {
        for (p, acked) in outcome.by_path() {
            if let Some(sample) = acked.rtt {
                let rto = &self.config.rto;
                self.paths.rtt_sample(now, p, sample, rto, &mut self.tracer);
            }
            if acked.t3_restarted
                && let Some((view, path)) = self.paths.both_mut(p)
            {
                path.t3 = now + view.rto;
            }
        }
    }

    /// Increases first, then decreases (RFC 9260 section 7.2.4), path by path.
    fn update_windows(&mut self, now: Time, arrival: PathId, outcome: &SackOutcome) {
        self.restore_windows(now, outcome);
        self.report_losses(now);
        let mut lossy = false;
        for (p, acked) in outcome.by_path() {
            lossy |= acked.entered_recovery || acked.lost > 0 && self.config.recovery.rack;
            if let Some(trip) = acked.copied_trip {
                let view = self.tx.view(now, &self.paths);
                self.policies.path_scheduler.on_overtaken(&view, p, trip);
            }
            if acked.newly_acked == 0 {
                continue;
            }
            if let Some(path) = self.paths.get_mut(p) {
                path.acked += acked.newly_acked;
                path.on_probation = false;
            }
            self.tx.copies.add_credit(p, acked.newly_acked);
            let view = self.tx.view(now, &self.paths);
            let Some(path) = view.path(p) else { continue };
            if let Some(sample) = &acked.rate {
                self.policies.congestion.on_rate_sample(&view, p, sample);
                self.policies.path_scheduler.on_rate_sample(&view, p, sample);
            }
            let moved = match self.config.cmt.cuc {
                Cuc::Off => outcome.cum_advanced,
                Cuc::V1 | Cuc::V2 => acked.new_pseudo_cumack,
            };
            // A path that enters recovery by this very SACK still takes the growth its acks earned.
            let ns2 = &self.config.reproduction.ns2;
            let grows = ns2.grows_in_recovery && self.config.cmt.cuc != Cuc::Off;
            let recovering = path.in_recovery && !acked.entered_recovery && !grows;
            // What this SACK declared lost filled no window, in ns-2; but without CMT it does.
            let outstanding_before = if ns2.marked_stay_outstanding {
                let alone = self.config.cmt.cuc == Cuc::Off;
                let marked = if alone { self.tx.outstanding.marked_bytes(p).0 } else { 0 };
                path.outstanding + marked + acked.newly_acked
            } else {
                acked.outstanding_before
            };
            let ev = AckedInfo {
                path: p,
                bytes: acked.newly_acked,
                outstanding_before,
                outstanding: path.outstanding,
                may_grow: moved && !recovering,
                rtt: acked.latest_rtt(now),
                sack_path: arrival,
            };
            self.policies.congestion.on_acked(&view, &ev);
            self.policies.path_scheduler.on_acked(&view, &ev);
        }
        if lossy {
            self.refresh_windows(now);
            self.cut_windows(now, outcome);
        }
        let view = self.tx.view(now, &self.paths);
        self.policies.congestion.sack_done(&view);
        self.reduce_rates(outcome);
        self.refresh_windows(now);
    }

    /// Timeouts that turned out to be spurious (F-RTO) cut windows for nothing.
    fn restore_windows(&mut self, now: Time, outcome: &SackOutcome) {
        for (p, acked) in outcome.by_path() {
            if acked.spurious_timeout {
                let view = self.tx.view(now, &self.paths);
                self.policies.congestion.on_spurious_timeout(&view, p);
                self.refresh_windows(now);
            }
        }
    }

    /// The congestion control hears of all that was declared lost, transmission by transmission.
    pub(super) fn report_losses(&mut self, now: Time) {
        self.trace_losses(now);
        for p in self.paths.ids() {
            let Some(path) = self.paths.get_mut(p) else { continue };
            let losses = path.delivery_rate.take_lost();
            if losses.is_empty() {
                continue;
            }
            let view = self.tx.view(now, &self.paths);
            for lost in &losses {
                self.policies.congestion.on_transmission_lost(&view, p, lost);
            }
        }
    }

    fn cut_windows(&mut self, now: Time, outcome: &SackOutcome) {
        for (p, acked) in outcome.by_path() {
            let losses = Losses { lost: acked.lost, react: acked.entered_recovery };
            self.cut_window(now, p, losses);
        }
    }

    /// What losses that no timeout found do to the window of `p`.
    pub(super) fn cut_window(&mut self, now: Time, p: PathId, losses: Losses) {
        if losses.lost > 0 {
            let (chunks, kind) = (losses.lost, LossKind::FastRetransmit);
            self.tracer.emit(now, || TraceEvent::Lost { path: p, kind, chunks, rto: 0 });
        }
        if losses.react {
            let view = self.tx.view(now, &self.paths);
            let loss = LossInfo { path: p, kind: LossKind::FastRetransmit };
            self.policies.congestion.on_lost(&view, &loss);
            self.policies.path_scheduler.on_lost(&view, &loss);
            self.refresh_windows(now);
        }
    }

    /// Paths in fast recovery: how much they may send until the next SACK (PRR).
    fn reduce_rates(&mut self, outcome: &SackOutcome) {
        if self.policies.congestion.is_rate_based() {
            return;
        }
        for (p, acked) in outcome.by_path() {
            if acked.newly_acked > 0 || acked.lost > 0 {
                let target = self.policies.congestion.cwnd(p);
                self.tx.recovery.step_rate(p, acked.newly_acked, target, &self.paths);
            }
        }
    }

    /// Paths whose data was acknowledged are alive. With potentially failed paths on, an ambiguous
    /// ack (of a chunk sent more than once) proves nothing (CMT-PF). Where silent paths are given
    /// up, nor does one of data that may have arrived before the path failed: there RFC 9260 section
    /// 8.2 would have its errors forgotten.
    fn note_living_paths(&mut self, now: Time, outcome: &SackOutcome) {
        let strict = self.config.recovery.rescheduling.watches_silence();
        for (p, acked) in outcome.by_path() {
            let proves = match self.config.potentially_failed {
                Some(pf) if pf.single_path_ack_proves_path => {
                    acked.acked_once || acked.acked_here_alone
                }
                Some(_) => acked.acked_once,
                None => acked.acked,
            };
            if !proves || strict && self.tells_of_the_past(p) {
                continue;
            }
            if let Some(path) = self.paths.get_mut(p) {
                path.black_hole.data_arrived();
                path.last_contact = now;
            }
            self.on_path_heard_again(now, p);
            if let Some(state) = self.paths.alive(p) {
                self.path_state_changed(now, p, state);
            }
        }
    }

    /// Whether what the SACK at hand acknowledges of `p` may have arrived before an outage. That
    /// takes what is under way: a path all of whose data arrived had none.
    fn tells_of_the_past(&self, p: PathId) -> bool {
        self.paths.tells_of_the_past(p) && self.tx.misses_data_of(p, &self.paths)
    }

    fn trace_sack(&mut self, now: Time, path: PathId, info: &SackInfo<'_>) {
        if !self.tracer.is_on() {
            return;
        }
        let cumulative_tsn = crate::tsn_map::wire(info.cum).0;
        let gap_blocks = (info.gaps.len() + info.nr_gaps.len()) as u32;
        let (peer_rwnd, send_buffer) = (self.tx.peer_rwnd(), self.tx.buffer_view().used);
        self.tracer.emit(now, || TraceEvent::Sack {
            path,
            cumulative_tsn,
            gap_blocks,
            peer_rwnd,
            send_buffer,
        });
    }

    fn after_sack(&mut self, now: Time, outcome: &SackOutcome) {
        self.tune_send_buffer();
        if outcome.freed > 0 || outcome.cum_advanced && self.tx.is_cramped() {
            self.announce_room();
        }
        if outcome.cum_advanced && self.tx.is_drained() {
            self.events.push_back(Event::SenderDry);
        }
        self.tx.forward_after_sack(now, &self.paths);
        self.attempt.note_sack(outcome.fast_retransmission_acked);
        if outcome.passed_retransmission && self.config.reproduction.ns2.burst_limit_stays {
            self.attempt.note_retransmission_passed();
        }
        self.trigger(Trigger::Sack);
        self.check_shutdown_progress(now);
    }

    /// One `Writable` event at a time: the application reads the latest numbers when it gets to it.
    pub(super) fn announce_room(&mut self) {
        let waiting = self.events.iter().any(|e| matches!(e, Event::Writable(_)));
        if self.state.accepts_messages() && !waiting {
            self.events.push_back(Event::Writable(self.tx.queue_info()));
        }
    }
}
