//! A path that is only told of: what it delivered, lost and has in flight is what a test says.

use polypath_proto::PathId;
use polypath_proto::config::{CcConfig, InitialCwnd};
use polypath_proto::policy::{AckedInfo, CongestionControl, LossInfo};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, LossKind, LostTransmission, PathView, RateSample};

use super::super::model::Model;
use super::super::{Bbr, BbrState, Beyond};

pub(super) const PATH: PathId = PathId(0);
/// C.SMSS.
pub(super) const PACKET: u64 = 1000;
/// Bytes per second.
pub(super) const RATE: f64 = 1e6;
pub(super) const RTT: Duration = Duration::from_millis(100);
/// RATE times RTT.
pub(super) const BDP: u64 = 100_000;
/// C.InitialCwnd.
pub(super) const INITIAL: u64 = 10_000;
/// In flight while nothing waits in a queue, and while much does.
pub(super) const NO_QUEUE: u64 = 90_000;
pub(super) const QUEUE: u64 = 180_000;
/// Acknowledged by a SACK: 10 ms of RATE. So much more than the rate explains comes at once.
pub(super) const ACKED: u64 = 10_000;

/// A SACK, and what it tells of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sack {
    /// Since the one before.
    pub(super) after: Duration,
    /// RS.delivery_rate, bytes per second; 0: the sample is not valid.
    pub(super) rate: f64,
    /// RS.delivered, if it is not the rate times RTT.
    pub(super) delivered: Option<u64>,
    /// RS.newly_acked.
    pub(super) acked: u64,
    /// RS.rtt.
    pub(super) rtt: Option<Duration>,
    /// C.inflight, after it.
    pub(super) in_flight: u64,
    /// What the window still admitted before it.
    pub(super) room: u64,
    /// It acknowledges what was sent after the latest round began, and so many bytes were delivered
    /// since then.
    pub(super) begins_round: bool,
    pub(super) age: u64,
    pub(super) app_limited: bool,
    /// RS.lost and RS.tx_in_flight.
    pub(super) lost: u64,
    pub(super) sent_in_flight: u64,
    /// The path is in fast recovery.
    pub(super) in_recovery: bool,
}

/// 10 ms later a round trip ends in which the path was as fast as ever, and full.
pub(super) const ROUND: Sack = Sack {
    after: Duration::from_millis(10),
    rate: RATE,
    delivered: None,
    acked: ACKED,
    rtt: Some(RTT),
    in_flight: QUEUE,
    room: u64::MAX,
    begins_round: true,
    age: 0,
    app_limited: false,
    lost: 0,
    sent_in_flight: QUEUE,
    in_recovery: false,
};

/// The same in the midst of a round.
pub(super) const WITHIN: Sack = Sack { begins_round: false, ..ROUND };

/// The same without a queue.
pub(super) const CALM: Sack = Sack { in_flight: NO_QUEUE, sent_in_flight: NO_QUEUE, ..ROUND };

/// Round trips of a rate.
pub(super) const fn at_rate(rate: f64) -> Sack {
    Sack { rate, ..ROUND }
}

/// `packets` lost of those that left when so many were in flight, and none before.
pub(super) const fn lost(packets: u64, of_packets: u64) -> LostTransmission {
    LostTransmission::of_flight(packets * PACKET, of_packets * PACKET)
}

/// The same after `before` others of them.
pub(super) const fn lost_after(before: u64, packets: u64, of_packets: u64) -> LostTransmission {
    let mut lost = lost(packets, of_packets);
    lost.lost += before * PACKET;
    lost
}

/// BBR on a path that a test speaks for.
#[derive(Debug)]
pub(super) struct FakePath {
    pub(super) bbr: Bbr,
    pub(super) view: PathView,
    pub(super) now: Time,
}

impl FakePath {
    /// A path whose round trip is known.
    pub(super) fn new() -> Self {
        Self::with(7, Beyond::default(), Some(RTT))
    }

    pub(super) fn with(seed: u64, beyond: Beyond, srtt: Option<Duration>) -> Self {
        let config = CcConfig { initial_cwnd: InitialCwnd::Bytes(INITIAL), ..CcConfig::default() };
        let mut view = PathView::new(PATH, 1500, PACKET as u32, Duration::from_secs(1));
        view.srtt = srtt;
        let bbr = Bbr::new(config, Rng::from_u64(seed), beyond);
        let mut path = Self { bbr, view, now: Time::from_secs(100) };
        path.tell(|bbr, view| bbr.path_added(view, PATH));
        path
    }

    /// In Startup, where the window has grown to what the path takes.
    pub(super) fn in_startup() -> Self {
        let mut path = Self::new();
        path.sacks(25, WITHIN);
        path.expect(BbrState::Startup)
    }

    pub(super) fn in_drain() -> Self {
        let mut path = Self::in_startup();
        path.sacks(3, ROUND);
        path.expect(BbrState::Drain)
    }

    /// In DOWN, with a queue.
    pub(super) fn in_down() -> Self {
        Self::in_drain().until(BbrState::Down, ROUND)
    }

    pub(super) fn in_cruise() -> Self {
        Self::in_down().until(BbrState::Cruise, CALM)
    }

    pub(super) fn in_refill() -> Self {
        Self::in_cruise().until(BbrState::Refill, CALM)
    }

    pub(super) fn in_up() -> Self {
        Self::in_refill().until(BbrState::Up, CALM)
    }

    /// In DOWN after losses in UP, which found a limit of so many packets in flight.
    pub(super) fn with_limit(packets: u64) -> Self {
        let mut path = Self::in_up();
        path.lose(&[lost_after(98, 1, packets + 1)]);
        assert_eq!(path.limit(), (packets * PACKET) as f64);
        path.expect(BbrState::Down)
    }

    /// In UP once more after that, allowed to stay there: the probe that goes only up to the limit
    /// has succeeded.
    pub(super) fn up_again(packets: u64) -> Self {
        let mut path = Self::with_limit(packets).until(BbrState::Refill, CALM);
        path = path.until(BbrState::Up, CALM);
        path.sack(Sack { in_flight: packets * PACKET, ..CALM });
        path = path.expect(BbrState::Down).until(BbrState::Refill, CALM);
        path.until(BbrState::Up, CALM)
    }

    /// The same SACK until the path is in this state.
    pub(super) fn until(mut self, state: BbrState, sack: Sack) -> Self {
        self.sacks_until(state, sack);
        self
    }

    /// How many that are.
    pub(super) fn sacks_until(&mut self, state: BbrState, sack: Sack) -> u64 {
        for n in 0..4000 {
            if self.state() == state {
                return n;
            }
            self.sack(sack);
        }
        panic!("still {:?}, not {state:?}", self.state());
    }

    pub(super) fn expect(self, state: BbrState) -> Self {
        assert_eq!(self.state(), state);
        self
    }

    pub(super) fn state(&self) -> BbrState {
        self.bbr.state(PATH).expect("it was added")
    }

    pub(super) fn model(&self) -> &Model {
        &self.bbr.on(PATH).expect("it was added").model
    }

    /// BBR.inflight_longterm.
    pub(super) fn limit(&self) -> f64 {
        self.model().inflight_longterm
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.bbr.cwnd(PATH)
    }

    /// The pacing rate over RATE, without the margin.
    pub(super) fn gain(&self) -> f64 {
        let views = [self.view];
        let rate = self.bbr.pacing_rate(&AssocView::new(self.now, &views), PATH);
        (rate.expect("it has one") as f64 / RATE / 0.99 * 1e4).round() / 1e4
    }

    pub(super) fn sack(&mut self, sack: Sack) {
        self.sack_losing(sack, &[]);
    }

    pub(super) fn sacks(&mut self, n: usize, sack: Sack) {
        (0..n).for_each(|_| self.sack(sack));
    }

    /// A SACK that shows losses, told in the order of the engine.
    pub(super) fn sack_losing(&mut self, sack: Sack, losses: &[LostTransmission]) {
        self.now += sack.after;
        let prior = if sack.begins_round { self.view.delivered - sack.age } else { 0 };
        self.view.delivered += sack.acked;
        self.view.outstanding = sack.in_flight;
        self.view.in_recovery = sack.in_recovery;
        self.lose(losses);
        let sample = sample(sack, prior);
        let ev = AckedInfo {
            path: PATH,
            bytes: sack.acked,
            outstanding_before: self.cwnd().saturating_sub(sack.room),
            outstanding: sack.in_flight,
            may_grow: true,
            rtt: sack.rtt,
            sack_path: PATH,
        };
        self.tell(|bbr, view| {
            bbr.on_rate_sample(view, PATH, &sample);
            bbr.on_acked(view, &ev);
        });
    }

    /// Losses that no SACK shows, or not yet.
    pub(super) fn lose(&mut self, losses: &[LostTransmission]) {
        for lost in losses {
            self.view.lost += lost.bytes;
            self.tell(|bbr, view| bbr.on_transmission_lost(view, PATH, lost));
        }
    }

    /// Fast recovery begins.
    pub(super) fn recover(&mut self) {
        let loss = LossInfo { path: PATH, kind: LossKind::FastRetransmit };
        self.view.in_recovery = true;
        self.tell(|bbr, view| bbr.on_lost(view, &loss));
    }

    /// T3-rtx expires: all that was in flight is lost.
    pub(super) fn time_out(&mut self, losses: &[LostTransmission]) {
        self.view.outstanding = 0;
        self.view.in_recovery = false;
        self.lose(losses);
        let loss = LossInfo { path: PATH, kind: LossKind::Timeout };
        self.tell(|bbr, view| bbr.on_lost(view, &loss));
    }

    /// The timeout was spurious.
    pub(super) fn undo(&mut self) {
        self.tell(|bbr, view| bbr.on_spurious_timeout(view, PATH));
    }

    /// After so much time without data the path is used again.
    pub(super) fn restart(&mut self, after: Duration, is_app_limited: bool) {
        self.now += after;
        self.view.outstanding = 0;
        self.tell(|bbr, view| bbr.on_restart(view, PATH, is_app_limited));
    }

    pub(super) fn tell(&mut self, tell: impl FnOnce(&mut Bbr, &AssocView<'_>)) {
        let views = [self.view];
        let mut view = AssocView::new(self.now, &views);
        view.peer_rwnd_max = 1 << 20;
        tell(&mut self.bbr, &view);
    }
}

fn sample(sack: Sack, prior_delivered: u64) -> RateSample {
    let by_rate = (sack.rate * RTT.as_secs_f64()).round() as u64;
    let mut sample = RateSample::of_trip(by_rate, RTT);
    sample.is_valid = sack.rate > 0.0;
    if let Some(delivered) = sack.delivered {
        sample.interval = Duration::from_secs_f64(delivered as f64 / sack.rate);
        sample.delivered = delivered;
    }
    sample.rtt = sack.rtt.unwrap_or(RTT);
    sample.prior_delivered = prior_delivered;
    sample.is_app_limited = sack.app_limited;
    (sample.newly_acked, sample.lost) = (sack.acked, sack.lost);
    sample.sent_in_flight = sack.sent_in_flight;
    sample
}
