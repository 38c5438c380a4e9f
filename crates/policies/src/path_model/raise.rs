//! A way that became a little longer: asked by putting more in flight.
//!
//! What is in flight is the known rate times the known round trip, and two packets of slack. Where
//! the way becomes longer by no more than the slack explains, what comes through is a little less
//! than the known rate, the round trip a little longer, and their product what is in flight:
//! exactly what a queue of our own would show (Little's law). If the path became ten times as fast
//! meanwhile, nobody would ever know: nothing asks for more, and a test that takes something away
//! looks for longer queues than that ([`competitor`](crate::path_model::competitor)).
//!
//! So when round trips grew and then stayed, a quarter more goes in flight for two rounds, once. A
//! queue grows by as much; if the round trip stays the same there is none, and it is the way's. It
//! costs less than taking half away, and comes before that.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

use crate::path_model::competitor::Known;
use crate::path_model::rounds::Rounds;

/// Round trips that grew by more than so many packets' times want an answer,
const GREW: f64 = 2.0;
/// and by more than this part of them.
const GREW_PART: f64 = 0.02;
/// So do those that are longer than the smallest one by so many: the slack is two.
const QUEUE: f64 = 2.5;
/// Round trips of two rounds that differ by less than this part of a packet's time are the same,
const STAYED: f64 = 0.5;
/// and so are those before and after more went in flight.
const SAME: f64 = 0.25;
/// A quarter more goes in flight, at least so many packets: they have to show.
const PACKETS: u64 = 4;

/// The question, for one path.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    rounds: Rounds,
    /// The smallest round trip of the round before.
    last: Option<Duration>,
    /// The most that was outstanding in this round and in the one before, which round trips answer
    /// for.
    most: (u64, u64),
    /// Round trips up to this one were asked about.
    answered: Option<Duration>,
    /// They grew since.
    open: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Watching,
    /// More goes in flight, for the second round already?
    Filling(More, bool),
    /// It is in flight: the packets that left last tell.
    Filled(More),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct More {
    /// Bytes.
    flight: u64,
    /// The round trip before.
    trip: Duration,
}

impl Default for Raise {
    fn default() -> Self {
        let (rounds, stage) = (Rounds::default(), Stage::Watching);
        Self { rounds, last: None, most: (0, 0), answered: None, open: true, stage }
    }
}

impl Raise {
    /// What may be in flight, bytes, where it would be `cap` else.
    #[inline]
    pub fn cap(&self, cap: u64) -> u64 {
        match self.stage {
            Stage::Watching => cap,
            Stage::Filling(more, _) | Stage::Filled(more) => cap.max(more.flight),
        }
    }

    /// Somebody else asks now.
    pub const fn stop(&mut self) {
        self.stage = Stage::Watching;
    }

    /// A SACK acknowledged data of the path, of which so much is known. Gives the round trip of a
    /// way that became longer.
    pub fn on_acked(
        &mut self,
        now: Time,
        path: &PathView,
        ev: &AckedInfo,
        known: &Known,
    ) -> Option<Duration> {
        self.most.0 = self.most.0.max(ev.outstanding_before);
        let trip = self.rounds.on_acked(now, path, ev)?;
        let out = self.most.0.max(self.most.1);
        self.most = (0, self.most.0);
        let packet = known.packets(path, 1);
        match self.stage {
            Stage::Watching => {
                let asks = self.watch(trip, packet) && is_queue(trip, known, packet);
                if let Some(more) = asks.then(|| more(path, out, trip)).flatten() {
                    self.stage = Stage::Filling(more, false);
                }
            }
            Stage::Filling(more, again) => {
                if ev.outstanding_before + u64::from(path.mtu) >= more.flight {
                    self.stage = Stage::Filled(more);
                } else if again {
                    // Nothing to send, or no room in the buffer.
                    self.answer(trip);
                } else {
                    self.stage = Stage::Filling(more, true);
                }
            }
            Stage::Filled(more) => {
                let latest = ev.rtt.unwrap_or(trip);
                self.answer(latest);
                // Where the buffer is the limit it may have come and gone: nothing was asked.
                let stayed = ev.outstanding_before + u64::from(path.mtu) >= more.flight;
                return (stayed && !differ(latest, more.trip, SAME * packet)).then_some(latest);
            }
        }
        None
    }

    /// Whether round trips grew since they were asked about, and then stayed.
    fn watch(&mut self, trip: Duration, packet: f64) -> bool {
        let stayed = self.last.is_some_and(|last| !differ(last, trip, STAYED * packet));
        self.last = Some(trip);
        let answered = self.answered.map_or(trip, |answered| answered.min(trip));
        let grew = differ(answered, trip, (GREW * packet).max(GREW_PART * trip.as_secs_f64()));
        self.open |= grew;
        self.answered = Some(if grew { trip } else { answered });
        self.open && stayed
    }

    fn answer(&mut self, trip: Duration) {
        self.answered = self.answered.max(Some(trip));
        (self.open, self.stage) = (false, Stage::Watching);
    }
}

/// Whether two round trips differ by so many seconds or more.
fn differ(a: Duration, b: Duration, secs: f64) -> bool {
    a.abs_diff(b).as_secs_f64() >= secs
}

/// Whether a round trip is longer than the smallest one, as if packets waited.
fn is_queue(trip: Duration, known: &Known, packet: f64) -> bool {
    let base = known.base.as_secs_f64();
    trip.as_secs_f64() - base > (QUEUE * packet).max(GREW_PART * base)
}

/// A quarter more than was outstanding, if the window has room for it.
fn more(path: &PathView, out: u64, trip: Duration) -> Option<More> {
    let flight = out + (out / 4).max(PACKETS * u64::from(path.mtu));
    (flight < path.cwnd).then_some(More { flight, trip })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::measured;
    use polypath_proto::PathId;

    /// What is known: 225 kB/s and 74 ms hold 11 packets.
    const KNOWN: Known = Known { base: Duration::from_millis(74), rate: 225_000.0, slack: 2 };
    /// With the slack.
    const FLIGHT: u64 = 13 * 1500;

    struct Path {
        raise: Raise,
        now: Time,
        cwnd: u64,
        /// The round trip without a queue, and bytes per second of the link.
        way: Duration,
        rate: f64,
        flight: u64,
        /// Bytes that are there to be sent.
        wanted: u64,
        /// Little is in flight for a moment as rounds end, as where another path takes from the
        /// same buffer.
        dips: bool,
        longer: Option<Duration>,
        most: u64,
    }

    impl Path {
        fn new(way: u64, rate: f64) -> Self {
            let (now, way) = (Time::from_secs(1), Duration::from_millis(way));
            let (cwnd, wanted) = (100_000, u64::MAX);
            let raise = Raise::default();
            Self {
                raise,
                now,
                cwnd,
                way,
                rate,
                flight: FLIGHT,
                wanted,
                dips: false,
                longer: None,
                most: 0,
            }
        }

        /// Round trips in which each packet is acknowledged and another one leaves.
        fn rounds(&mut self, n: u32) -> Option<Duration> {
            (0..n).for_each(|_| self.round());
            self.longer
        }

        fn round(&mut self) {
            let held = Duration::from_secs_f64(self.flight as f64 / self.rate);
            let trip = held.max(self.way);
            let mut path = measured(&[(self.cwnd, trip.as_millis() as u64)]).remove(0);
            path.srtt = Some(trip);
            let packets = self.flight / 1500;
            for n in 1..=packets {
                self.now += trip / packets as u32 + Duration::from_nanos(1);
                let dips = self.dips && n == 1 && self.raise.stage == Stage::Watching;
                let outstanding = if dips { self.flight - 4 * 1500 } else { self.flight };
                let ev = AckedInfo {
                    path: PathId(0),
                    bytes: 1500,
                    outstanding_before: outstanding,
                    outstanding: outstanding - 1500,
                    may_grow: true,
                    rtt: Some(trip),
                };
                let longer = self.raise.on_acked(self.now, &path, &ev, &KNOWN);
                self.longer = self.longer.or(longer);
            }
            self.flight = self.raise.cap(FLIGHT).min(self.cwnd).min(self.wanted);
            self.most = self.most.max(self.flight);
        }
    }

    #[test]
    fn a_way_that_became_a_little_longer_is_found_though_the_path_is_faster() {
        let mut p = Path::new(95, 1_460_000.0);
        assert_eq!(p.rounds(6), Some(p.way));
        assert_eq!(p.most, FLIGHT + PACKETS * 1500);
        assert_eq!(p.flight, FLIGHT);
    }

    #[test]
    fn a_queue_of_our_own_grows_and_is_asked_once() {
        // 173 kB/s: 13 packets take 113 ms, 17 of them 147.
        let mut p = Path::new(74, 173_000.0);
        assert_eq!(p.rounds(6), None);
        assert!(p.most > FLIGHT);
        p.most = 0;
        assert_eq!(p.rounds(100), None);
        assert_eq!(p.most, FLIGHT);
        // Until round trips grow again.
        p.way = Duration::from_millis(160);
        assert_eq!(p.rounds(6), Some(p.way));
    }

    #[test]
    fn no_more_than_was_in_flight_before_asks_nothing() {
        let mut p = Path::new(74, 173_000.0);
        p.dips = true;
        assert_eq!(p.rounds(50), None);
    }

    #[test]
    fn slack_is_not_asked_about() {
        // 13 packets take 87 ms, two more than the way.
        let mut p = Path::new(74, KNOWN.rate);
        assert_eq!((p.rounds(50), p.most), (None, FLIGHT));
    }

    #[test]
    fn nothing_is_asked_where_the_window_binds() {
        let mut p = Path::new(95, 1_460_000.0);
        p.cwnd = FLIGHT + 1500;
        assert_eq!((p.rounds(50), p.most), (None, FLIGHT));
    }

    #[test]
    fn who_has_nothing_to_send_learns_nothing() {
        let mut p = Path::new(95, 1_460_000.0);
        p.wanted = FLIGHT;
        assert_eq!(p.rounds(50), None);
        assert_eq!(p.raise.stage, Stage::Watching);
    }

    #[test]
    fn round_trips_that_go_on_growing_are_no_way() {
        let mut p = Path::new(95, 1_460_000.0);
        for _ in 0..50 {
            p.way += Duration::from_millis(5);
            p.round();
        }
        assert_eq!(p.longer, None);
    }
}
