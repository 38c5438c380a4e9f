//! Tail-loss probe (RFC 8985 section 7), per path: the last packets of a flight have nothing behind
//! them that could tell of their loss. When no SACK came for two round trips, one packet is sent
//! that asks for one.

use crate::time::{Duration, Time};

/// The shortest timeout. Where round trips take microseconds, a process that waits for its turn is
/// late by many of them.
const SHORTEST: Duration = Duration::from_millis(10);

/// The probe's state of one path.
#[derive(Debug)]
pub(super) struct TailProbe {
    /// PTO expires.
    pub(super) timer: Time,
    /// It expired: one packet may go, whatever the window says.
    pub(super) due: bool,
    flight: Option<Probe>,
    /// A round trip was measured since the last probe: probes must not keep RTTs from being
    /// measured.
    measured: bool,
}

/// A probe in flight.
#[derive(Clone, Copy, Debug)]
struct Probe {
    tsn: u64,
    sent: Time,
    /// It was a retransmission.
    again: bool,
    acked: bool,
    /// Its answer is overdue, which is known to those who ask.
    overdue: bool,
}

impl Default for TailProbe {
    fn default() -> Self {
        Self { timer: Time::MAX, due: false, flight: None, measured: false }
    }
}

/// PTO (section 7.2): two round trips; more when a single packet is in flight, whose SACK may be
/// delayed.
pub(super) fn probe_timeout(srtt: Duration, single: bool, sack_delay: Duration) -> Duration {
    if single { 2 * srtt + sack_delay } else { (2 * srtt).max(SHORTEST) }
}

impl TailProbe {
    /// Whether a probe might go out once the timer expires: no other is in flight, and an RTT was
    /// measured since.
    pub(super) const fn is_ready(&self) -> bool {
        self.flight.is_none() && self.measured && !self.due
    }

    /// When the probe in flight was sent, unless something was acknowledged since.
    pub(super) fn unanswered_since(&self, last_acked: Time) -> Option<Time> {
        let probe = self.flight.filter(|probe| !probe.acked && !probe.overdue)?;
        (last_acked < probe.sent).then_some(probe.sent)
    }

    /// No answer came to the probe in flight in time.
    pub(super) const fn note_overdue(&mut self) {
        if let Some(probe) = &mut self.flight {
            probe.overdue = true;
        }
    }

    /// A chunk that was sent once was acknowledged.
    pub(super) const fn note_rtt_measured(&mut self) {
        self.measured = true;
    }

    /// Something that is no retransmission went out on the path.
    pub(super) fn note_new_data_sent(&mut self, now: Time, tsn: u64) -> bool {
        let due = core::mem::take(&mut self.due);
        if due {
            self.start(now, tsn, false);
        }
        due
    }

    /// A retransmission of `tsn` goes out as the probe.
    pub(super) const fn note_probe_sent(&mut self, now: Time, tsn: u64) {
        self.due = false;
        self.start(now, tsn, true);
    }

    const fn start(&mut self, now: Time, tsn: u64, again: bool) {
        self.flight = Some(Probe { tsn, sent: now, again, acked: false, overdue: false });
        self.measured = false;
        self.timer = Time::MAX;
    }

    /// Recovery begins: other mechanisms take over.
    pub(super) const fn reset(&mut self) {
        self.timer = Time::MAX;
        self.due = false;
        self.flight = None;
    }

    /// `tsn` was acknowledged.
    pub(super) fn note_acked(&mut self, tsn: u64) {
        if let Some(probe) = self.flight.as_mut().filter(|probe| probe.tsn == tsn) {
            probe.acked = true;
            if !probe.again {
                self.flight = None;
            }
        }
    }

    /// `tsn` was acknowledged, for another transmission as it seems.
    pub(super) fn note_ambiguously_acked(&mut self, tsn: u64) {
        self.note_duplicate(tsn);
    }

    /// The peer got `tsn` twice, so neither the original nor the probe was lost (section 7.4.2,
    /// case 1).
    pub(super) fn note_duplicate(&mut self, tsn: u64) {
        self.flight = self.flight.filter(|probe| probe.tsn != tsn);
    }

    /// Whether the probe repaired a loss: it was acknowledged, so was something sent later, and no
    /// duplicate was reported. The loss still wants its answer from congestion control.
    ///
    /// SACKs that come back by several paths overtake each other: the one with the duplicate may
    /// come up to `overtaken` after those of what was sent later.
    pub(super) fn take_repaired_loss(
        &mut self,
        latest: Option<(Time, u64)>,
        overtaken: Duration,
    ) -> bool {
        let over = |p: &Probe| {
            p.acked && latest.is_some_and(|latest| latest > (p.sent + overtaken, p.tsn))
        };
        let repaired = self.flight.is_some_and(|probe| over(&probe));
        if repaired {
            self.flight = None;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_millis;
    const ORDERED: Duration = Duration::ZERO;

    fn probed(again: bool) -> TailProbe {
        let mut tail = TailProbe { measured: true, due: true, ..TailProbe::default() };
        if again {
            tail.note_probe_sent(AT(300), 7);
        } else {
            tail.note_new_data_sent(AT(300), 7);
        }
        assert!(!tail.is_ready() && !tail.due);
        tail
    }

    #[test]
    fn new_data_that_is_delivered_ends_the_episode() {
        let mut tail = probed(false);
        tail.note_acked(7);
        assert!(!tail.take_repaired_loss(Some((AT(400), 8)), ORDERED));
        assert!(!tail.is_ready(), "no round trip was measured since");
        tail.note_rtt_measured();
        assert!(tail.is_ready());
    }

    #[test]
    fn a_retransmission_without_duplicate_repaired_a_loss() {
        let mut tail = probed(true);
        tail.note_acked(7);
        assert!(
            !tail.take_repaired_loss(Some((AT(300), 7)), ORDERED),
            "its duplicate may still be reported"
        );
        assert!(tail.take_repaired_loss(Some((AT(350), 8)), ORDERED));
        assert!(!tail.take_repaired_loss(Some((AT(350), 8)), ORDERED), "once");
    }

    #[test]
    fn a_duplicate_says_that_nothing_was_lost() {
        let mut tail = probed(true);
        tail.note_acked(7);
        tail.note_duplicate(7);
        assert!(!tail.take_repaired_loss(Some((AT(350), 8)), ORDERED));
    }

    #[test]
    fn a_duplicate_may_be_overtaken_on_the_way_back() {
        let mut tail = probed(true);
        tail.note_acked(7);
        let overtaken = Duration::from_millis(100);
        assert!(!tail.take_repaired_loss(Some((AT(399), 8)), overtaken));
        assert!(tail.take_repaired_loss(Some((AT(401), 8)), overtaken));
    }

    #[test]
    fn a_single_packet_is_given_the_delay_of_its_sack() {
        let (srtt, delay) = (Duration::from_millis(100), Duration::from_millis(200));
        assert_eq!(probe_timeout(srtt, false, delay), Duration::from_millis(200));
        assert_eq!(probe_timeout(srtt, true, delay), Duration::from_millis(400));
    }
}
