//! When a SACK is due (RFC 9260 sections 6.2 and 6.7; DAC: Iyengar et al. 2006).

use polypath_wire::dac_flags;

use crate::config::SackConfig;
use crate::time::{Duration, Time};

/// RFC 9260 section 6.2: SACK.Delay MUST NOT be configured to more.
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Payload of a full chunk on an Ethernet path: a window below it is too small to be useful.
pub(super) const FULL_CHUNK: u64 = 1452;

/// What became of one DATA chunk, as far as acknowledging goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Accepted, or acknowledged and discarded.
    New,
    /// Here already.
    Duplicate,
    /// Not accepted for want of room: to be answered at once.
    Dropped,
}

/// What the current packet brought.
#[derive(Clone, Copy, Debug, Default)]
struct PacketSummary {
    data: bool,
    new: bool,
    duplicate: bool,
    /// I bit, or a chunk was dropped.
    urgent: bool,
}

/// Decides when a SACK is due.
#[derive(Clone, Debug)]
pub(super) struct AckPolicy {
    delay: Duration,
    every: u32,
    dac: bool,
    sack_when_gap_fills: bool,
    dac_count_in_timer_sack: bool,
    packet: PacketSummary,
    /// Packets with DATA since the last SACK.
    packets: u32,
    had_gaps: bool,
    /// No DATA came yet.
    fresh: bool,
    immediate: bool,
    deadline: Option<Time>,
}

impl AckPolicy {
    pub(super) fn new(config: SackConfig, dac: bool) -> Self {
        Self {
            delay: config.delay.min(MAX_DELAY),
            every: config.every,
            dac,
            sack_when_gap_fills: config.sack_when_gap_fills,
            dac_count_in_timer_sack: config.dac_count_in_timer_sack,
            packet: PacketSummary::default(),
            packets: 0,
            had_gaps: false,
            fresh: true,
            immediate: false,
            deadline: None,
        }
    }

    /// Other timing from the next packet on.
    pub(super) fn set_timing(&mut self, delay: Duration, every: u32) {
        self.delay = delay.min(MAX_DELAY);
        self.every = every;
    }

    /// One chunk of the current packet.
    #[inline]
    pub(super) fn chunk(&mut self, outcome: Outcome, i_bit: bool) {
        self.packet.data = true;
        self.packet.new |= outcome == Outcome::New;
        self.packet.duplicate |= outcome == Outcome::Duplicate;
        self.packet.urgent |= i_bit || outcome == Outcome::Dropped;
    }

    /// The packet has no further chunks. Whatever it brought, one SACK answers it. `not_before`:
    /// where SACKs are thinned, when the number of packets may make one due.
    #[inline]
    pub(super) fn packet_end(&mut self, now: Time, gaps: bool, not_before: Option<Time>) {
        let packet = core::mem::take(&mut self.packet);
        if !packet.data {
            return;
        }
        self.packets += 1;
        let again = packet.duplicate && !packet.new;
        // The packet that fills the last gap is answered at once, too: RFC 5681 section 4.2.
        let gap = !self.dac && (gaps || self.sack_when_gap_fills && self.had_gaps);
        self.had_gaps = gaps;
        let first = core::mem::take(&mut self.fresh);
        self.immediate |= packet.urgent || again || gap || first;
        let deadline = *self.deadline.get_or_insert(now + self.delay);
        if self.packets >= self.every {
            match not_before.filter(|at| *at > now && self.every > 1) {
                Some(at) => self.deadline = Some(deadline.min(at)),
                None => self.immediate = true,
            }
        }
    }

    /// Makes a SACK due at once.
    pub(super) const fn request(&mut self) {
        self.immediate = true;
    }

    #[inline]
    pub(super) fn due(&self, now: Time) -> bool {
        self.immediate || self.deadline.is_some_and(|deadline| deadline <= now)
    }

    #[inline]
    pub(super) const fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Whether a SACK would say something new.
    #[inline]
    pub(super) const fn pending(&self) -> bool {
        self.immediate || self.deadline.is_some()
    }

    /// The flags of the SACK: the number of packets that it covers, if both ends know DAC.
    pub(super) fn flags(&self) -> u8 {
        let counts = self.dac && (self.immediate || self.dac_count_in_timer_sack);
        if counts { dac_flags(u8::try_from(self.packets).unwrap_or(u8::MAX)) } else { 0 }
    }

    /// A SACK was written.
    #[inline]
    pub(super) const fn written(&mut self) {
        self.packets = 0;
        self.immediate = false;
        self.deadline = None;
    }
}

/// Decides when the application's reading is worth a SACK of its own.
///
/// RFC 9260 section 6.2 suggests an update once a quarter of the buffer was freed. That alone would
/// leave a peer stuck that saw a window too small for a full chunk; it hears as soon as the window
/// takes one, or half the buffer (the receiver's silly window avoidance of RFC 1122 section
/// 4.2.3.3).
#[derive(Clone, Debug)]
pub(super) struct WindowUpdates {
    quarter: u64,
    useful: u64,
    full: u64,
    /// The window that the peer saw last.
    advertised: u64,
    /// Payload bytes freed since.
    freed: u64,
}

impl WindowUpdates {
    pub(super) fn new(buffer: u64, chunk_charge: u64) -> Self {
        let full = FULL_CHUNK + chunk_charge;
        Self {
            quarter: buffer / 4,
            useful: full.min(buffer / 2),
            full,
            advertised: buffer,
            freed: 0,
        }
    }

    /// The buffer is larger from now on.
    pub(super) const fn grow(&mut self, buffer: u64) {
        self.quarter = buffer / 4;
    }

    /// The application read `bytes`, which leaves `window`; whether the peer should know.
    #[inline]
    pub(super) fn freed(&mut self, bytes: u64, window: u64) -> bool {
        self.freed += bytes;
        let reopened = self.advertised < self.full && window >= self.useful;
        window > self.advertised && reopened || self.freed >= self.quarter
    }

    /// A SACK with this window was written.
    #[inline]
    pub(super) const fn written(&mut self, window: u64) {
        self.advertised = window;
        self.freed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(dac: bool) -> AckPolicy {
        let mut policy = AckPolicy::new(SackConfig::default(), dac);
        policy.chunk(Outcome::New, false);
        policy.packet_end(Time::ZERO, false, None);
        assert!(policy.due(Time::ZERO), "the first DATA is acknowledged at once");
        policy.written();
        policy
    }

    fn packet(policy: &mut AckPolicy, chunks: &[(Outcome, bool)], gaps: bool) -> bool {
        let now = Time::from_secs(1);
        chunks.iter().for_each(|(outcome, i_bit)| policy.chunk(*outcome, *i_bit));
        policy.packet_end(now, gaps, None);
        policy.due(now)
    }

    const NEW: (Outcome, bool) = (Outcome::New, false);
    const AGAIN: (Outcome, bool) = (Outcome::Duplicate, false);
    const DROPPED: (Outcome, bool) = (Outcome::Dropped, false);

    #[test]
    fn every_second_packet_is_acknowledged_whatever_its_chunks() {
        for dac in [false, true] {
            let mut p = policy(dac);
            assert!(!packet(&mut p, &[NEW, NEW, NEW], false));
            assert!(packet(&mut p, &[NEW], false));
            p.written();
            assert!(!p.pending() && !packet(&mut p, &[NEW], false));
        }
    }

    #[test]
    fn a_lone_packet_waits_for_the_delay() {
        let mut p = policy(true);
        packet(&mut p, &[NEW], true);
        assert_eq!(p.deadline(), Some(Time::from_millis(1200)));
        assert!(!p.due(Time::from_millis(1199)) && p.due(Time::from_millis(1200)));
        p.written();
        assert_eq!(p.deadline(), None);
    }

    #[test]
    fn where_sacks_are_thinned_the_second_packet_waits_for_its_time() {
        let (now, later) = (Time::from_secs(1), Time::from_millis(1010));
        let mut p = policy(true);
        for _ in 0..2 {
            p.chunk(Outcome::New, false);
            p.packet_end(now, true, Some(later));
        }
        assert!(!p.due(now) && p.due(later));
        p.chunk(Outcome::New, false);
        p.packet_end(later, true, Some(later));
        assert!(p.due(now), "its time has come");
    }

    #[test]
    fn packets_that_follow_do_not_put_the_sack_off() {
        let config = SackConfig { every: 9, ..SackConfig::default() };
        let mut p = AckPolicy::new(config, true);
        packet(&mut p, &[NEW], false);
        p.written();
        for ms in [1000, 1100, 1190] {
            p.chunk(Outcome::New, false);
            p.packet_end(Time::from_millis(ms), false, None);
        }
        assert!(!p.due(Time::from_millis(1199)) && p.due(Time::from_millis(1200)));
    }

    #[test]
    fn the_delay_is_at_most_half_a_second() {
        let config = SackConfig { delay: Duration::from_secs(9), ..SackConfig::default() };
        let mut p = AckPolicy::new(config, false);
        p.chunk(Outcome::New, false);
        p.packet_end(Time::ZERO, false, None);
        assert_eq!(p.deadline(), Some(Time::from_millis(500)));
    }

    #[test]
    fn without_dac_each_packet_is_acknowledged_until_the_gap_is_filled() {
        let mut p = policy(false);
        for gaps in [true, true, false] {
            assert!(packet(&mut p, &[NEW], gaps));
            p.written();
        }
        assert!(!packet(&mut p, &[NEW], false));
    }

    #[test]
    fn the_packet_that_fills_the_gap_may_wait_like_any_other() {
        let config = SackConfig { sack_when_gap_fills: false, ..SackConfig::default() };
        let mut p = AckPolicy::new(config, false);
        for gaps in [false, true] {
            assert!(packet(&mut p, &[NEW], gaps));
            p.written();
        }
        assert!(!packet(&mut p, &[NEW], false));
        assert_eq!(p.deadline(), Some(Time::from_millis(1200)));
        assert!(packet(&mut p, &[NEW], false), "the second packet");
    }

    #[test]
    fn with_dac_gaps_change_nothing_and_the_flags_count_packets() {
        let mut p = policy(true);
        assert_eq!(p.flags(), 0);
        assert!(!packet(&mut p, &[NEW], true));
        assert_eq!(p.flags(), 0x40);
        assert!(packet(&mut p, &[NEW, NEW], true));
        assert_eq!(p.flags(), 0x80);
        (0..1000).for_each(|_| _ = packet(&mut p, &[NEW], true));
        assert_eq!(p.flags(), 0xc0);
    }

    #[test]
    fn a_sack_of_the_timer_may_count_nothing() {
        let config = SackConfig { dac_count_in_timer_sack: false, ..SackConfig::default() };
        let mut p = AckPolicy::new(config, true);
        assert!(packet(&mut p, &[NEW], true));
        assert_eq!(p.flags(), 0x40, "the first DATA is answered at once");
        p.written();
        assert!(!packet(&mut p, &[NEW], true));
        assert_eq!(p.flags(), 0);
        assert!(packet(&mut p, &[NEW], true));
        assert_eq!(p.flags(), 0x80);
    }

    #[test]
    fn without_dac_the_flags_are_zero() {
        let mut p = policy(false);
        packet(&mut p, &[NEW], false);
        assert_eq!(p.flags(), 0);
    }

    #[test]
    fn duplicates_alone_the_i_bit_and_drops_are_answered_at_once() {
        let urgent: [&[_]; 4] =
            [&[AGAIN], &[NEW, (Outcome::New, true)], &[DROPPED], &[NEW, DROPPED]];
        for chunks in urgent {
            assert!(packet(&mut policy(true), chunks, false), "{chunks:?}");
        }
        assert!(!packet(&mut policy(true), &[AGAIN, NEW], false));
    }

    #[test]
    fn a_packet_without_data_asks_for_nothing() {
        let mut p = policy(false);
        assert!(!packet(&mut p, &[], true) && !p.pending());
        p.request();
        assert!(p.due(Time::ZERO));
    }

    #[test]
    fn the_window_is_updated_after_a_quarter() {
        let mut w = WindowUpdates::new(100_000, 0);
        w.written(50_000);
        assert!(!w.freed(24_999, 74_999));
        assert!(w.freed(1, 75_000));
        w.written(75_000);
        assert!(!w.freed(1, 75_001));
    }

    #[test]
    fn a_closed_window_is_updated_when_it_takes_a_full_chunk() {
        let mut w = WindowUpdates::new(100_000, 16);
        w.written(1_467);
        assert!(!w.freed(0, 1_467));
        assert!(w.freed(1, 1_468));
        let mut small = WindowUpdates::new(2_000, 0);
        small.written(600);
        assert!(!small.freed(399, 999) && small.freed(1, 1_000));
    }
}
