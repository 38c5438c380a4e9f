//! Time-based loss detection (RACK, RFC 8985 section 6), per path.
//!
//! A transmission is lost when a later one on the same path was delivered and the reordering window has passed: `sent + rtt +
//! window <= now`, with the round trip of the latest delivery. Paths reorder against each other all the time, so a path is
//! judged by its own deliveries only, as split fast retransmit has it. Retransmissions are judged like everything else, so
//! a lost one is sent again without a timeout, which RFC 9260 section 7.2.4 (one fast retransmit per TSN) rules out.
//!
//! SCTP differs from TCP in three ways. Duplicates are always reported, so every spurious retransmission is known. There is
//! no timestamp to tell a retransmission's acknowledgement from the original's: RFC 8985's heuristic decides, an
//! acknowledgement sooner than the smallest round trip belongs to the original. And "three segments above" is counted in
//! miss indications, which know of DAC ([`fast_retransmit`](super::fast_retransmit)).

use std::collections::BTreeSet;

use crate::sender::outstanding::TxChunk;
use crate::time::{Duration, Time};

/// Spurious retransmissions widen the window for so many recoveries (RFC 8985 section 6.2, step 4).
const PERSIST: u32 = 16;

/// The smallest reordering window but none: hosts take and give packets in batches (RFC 9002 section 6.1.2 has the same bound).
const GRANULARITY: Duration = Duration::from_millis(1);

/// TSNs that are remembered as declared lost, at most: what a duplicate report is checked against.
const REMEMBERED: usize = 256;

/// RACK's state of one path.
#[derive(Debug)]
pub(in crate::sender) struct Rack {
    /// (sent, TSN) of the latest transmission known to be delivered.
    latest: Option<(Time, u64)>,
    /// Round trip of the latest delivery.
    rtt: Duration,
    min_rtt: WindowedMin,
    /// The highest TSN first sent here that was delivered without retransmission (RACK.fack).
    highest: u64,
    reordering_seen: bool,
    /// The window in quarters of the smallest round trip.
    quarters: u32,
    /// Recoveries until `quarters` falls back to 1.
    persist: u32,
    /// When `quarters` last grew: once per round trip.
    grown: Time,
    /// TSNs declared lost and retransmitted, while their duplicates may be reported.
    judged: BTreeSet<u64>,
    /// The reordering timer.
    pub(in crate::sender) timer: Time,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            latest: None,
            rtt: Duration::ZERO,
            min_rtt: WindowedMin::default(),
            highest: 0,
            reordering_seen: false,
            quarters: 1,
            persist: 0,
            grown: Time::ZERO,
            judged: BTreeSet::new(),
            timer: Time::MAX,
        }
    }
}

impl Rack {
    /// A chunk that was sent here once was acknowledged: a round trip, and perhaps a sign of reordering (step 3).
    pub(super) fn original_delivered(&mut self, now: Time, tsn: u64, sent: Time) {
        self.min_rtt.note(now, now.since(sent));
        self.reordering_seen |= tsn < self.highest;
        self.highest = self.highest.max(tsn);
    }

    /// Whether the acknowledgement of `chunk` tells when its latest transmission was delivered (step 2).
    pub(super) fn is_evidence(&self, now: Time, chunk: &TxChunk) -> bool {
        if chunk.moved || chunk.reneged {
            return false;
        }
        let known = self.min_rtt.value().is_some();
        chunk.transmissions == 1 || known && !self.is_too_soon(now, chunk.sent)
    }

    /// The smallest round trip of data.
    pub(in crate::sender) fn shortest_trip(&self) -> Option<Duration> {
        self.min_rtt.value()
    }

    /// Whether an acknowledgement now is too soon to answer what was sent at `sent`.
    pub(super) fn is_too_soon(&self, now: Time, sent: Time) -> bool {
        self.min_rtt.value().is_some_and(|min| now.since(sent) < min)
    }

    /// A SACK delivered `newest` last among what it acknowledges here.
    pub(super) fn delivered(&mut self, now: Time, newest: (Time, u64)) {
        self.rtt = now.since(newest.0);
        self.latest = self.latest.max(Some(newest));
    }

    /// Transmissions before this one are suspicious while they are in flight.
    pub(super) const fn latest(&self) -> Option<(Time, u64)> {
        self.latest
    }

    pub(super) const fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    /// How long after `sent` a suspicious transmission counts as lost. In recovery there is no grace while the path was
    /// never seen to reorder (step 4).
    pub(super) fn patience(&self, srtt: Option<Duration>, recovering: bool) -> Duration {
        self.rtt + self.reordering_window(srtt, recovering)
    }

    fn reordering_window(&self, srtt: Option<Duration>, recovering: bool) -> Duration {
        if recovering && !self.reordering_seen {
            return Duration::ZERO;
        }
        let quarter = self.min_rtt.value().unwrap_or(self.rtt) / 4;
        quarter.saturating_mul(self.quarters).min(srtt.unwrap_or(self.rtt)).max(GRANULARITY)
    }

    /// `tsn` was declared lost for what arrived after it.
    pub(in crate::sender) fn judged(&mut self, tsn: u64) {
        self.judged.insert(tsn);
        if self.judged.len() > REMEMBERED {
            self.judged.pop_first();
        }
    }

    /// The peer got `tsn` twice. Gives whether the path is to blame: a chunk that was declared lost had only been late. It
    /// takes a wider window, once per round trip (step 4); and it is reordering that step 3 cannot see, because the chunk
    /// was retransmitted.
    pub(super) fn duplicate(&mut self, now: Time, tsn: u64) -> bool {
        if !self.judged.remove(&tsn) {
            return false;
        }
        self.reordering_seen = true;
        let round_over = self.latest.is_some_and(|(sent, _)| sent >= self.grown);
        if round_over {
            self.quarters = self.quarters.saturating_add(1);
            self.grown = now;
            self.persist = PERSIST;
        }
        true
    }

    /// A recovery is over.
    pub(super) const fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }
}

/// The smallest value of the last 10 to 20 seconds: a path that became longer is noticed, a standing queue is not
/// forgotten at once.
#[derive(Debug, Default)]
struct WindowedMin {
    began: Time,
    current: Option<Duration>,
    previous: Option<Duration>,
}

impl WindowedMin {
    const WINDOW: Duration = Duration::from_secs(10);

    fn note(&mut self, now: Time, value: Duration) {
        if now.since(self.began) >= Self::WINDOW {
            self.previous = self.current.take();
            self.began = now;
        }
        self.current = Some(self.current.map_or(value, |min| min.min(value)));
    }

    fn value(&self) -> Option<Duration> {
        match (self.current, self.previous) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Round trips of 100 ms: chunk `tsn` is sent at `tsn` ms and delivered.
    fn deliver(rack: &mut Rack, tsn: u64) {
        let (sent, now) = (Time::from_millis(tsn), Time::from_millis(tsn + 100));
        rack.original_delivered(now, tsn, sent);
        rack.delivered(now, (sent, tsn));
    }

    #[test]
    fn the_window_is_a_quarter_of_the_round_trip_and_none_in_recovery() {
        let mut rack = Rack::default();
        deliver(&mut rack, 1);
        assert_eq!(rack.patience(Some(ms(100)), false), ms(125));
        assert_eq!(rack.patience(Some(ms(100)), true), ms(100));
        assert_eq!(rack.patience(Some(ms(10)), false), ms(110), "never more than SRTT");
        deliver(&mut rack, 3);
        deliver(&mut rack, 2);
        assert!(rack.reordering_seen());
        assert_eq!(rack.patience(Some(ms(100)), true), ms(125));
    }

    #[test]
    fn duplicates_widen_the_window_once_per_round_trip_for_sixteen_recoveries() {
        let mut rack = Rack::default();
        deliver(&mut rack, 1);
        for tsn in [10, 11, 12] {
            rack.judged(tsn);
        }
        assert!(!rack.duplicate(Time::from_millis(150), 9), "never declared lost");
        assert!(rack.duplicate(Time::from_millis(150), 10));
        assert!(rack.duplicate(Time::from_millis(151), 11));
        assert!(!rack.duplicate(Time::from_millis(151), 11), "reported once");
        assert_eq!(rack.patience(Some(ms(100)), false), ms(150));
        // What is delivered now was sent after the window grew.
        deliver(&mut rack, 160);
        assert!(rack.duplicate(Time::from_millis(261), 12));
        assert_eq!(rack.patience(Some(ms(100)), false), ms(175));
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(rack.patience(Some(ms(100)), false), ms(175));
        rack.recovered();
        assert_eq!(rack.patience(Some(ms(100)), false), ms(125));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut rack = Rack::default();
        (0..10_000).for_each(|tsn| rack.judged(tsn));
        assert_eq!(rack.judged.len(), REMEMBERED);
    }

    #[test]
    fn the_smallest_round_trip_is_forgotten_after_a_while() {
        let mut min = WindowedMin::default();
        assert_eq!(min.value(), None);
        min.note(Time::from_secs(1), ms(20));
        for second in 2..=11 {
            min.note(Time::from_secs(second), ms(50));
        }
        assert_eq!(min.value(), Some(ms(20)));
        for second in 12..=24 {
            min.note(Time::from_secs(second), ms(50));
        }
        assert_eq!(min.value(), Some(ms(50)));
    }
}
