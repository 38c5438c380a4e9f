//! What the association does for a congestion control whose rates send and whose windows only bound
//! (`is_rate_based`), end to end in virtual time: paths of 20 ms there and back.

use core::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use polypath_proto::SendOptions;
use polypath_proto::config::{AssocConfig, CcConfig, RecoveryConfig};
use polypath_proto::ids::{PathId, StreamId};
use polypath_proto::policy::{
    AckedInfo, CongestionControl, LossInfo, PathPick, PathScheduler, Policy, PolicyFactory,
    PolicySet,
};
use polypath_proto::rng::Rng;
use polypath_proto::stats::Limit;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{
    AssocView, ChunkMeta, LossKind, LostTransmission, PathView, RateSample,
};
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;

const PATH: PathId = PathId(0);
/// A DATA chunk with a message of `MESSAGE` bytes.
const CHUNK: u64 = 1456;
const MESSAGE: usize = 1440;
/// Bytes per second: a packet in a millisecond, and one in ten.
const FAST: u64 = 1000 * CHUNK;
const SLOW: u64 = 100 * CHUNK;
const WINDOW: u64 = 1000 * CHUNK;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What the congestion control was told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Sample(RateSample),
    Gone(PathId, LostTransmission),
    Lost(PathId, LossKind),
    Restart(PathId, bool),
}

#[derive(Debug)]
struct State {
    rates: [u64; 2],
    is_rate_based: bool,
    holds_back: bool,
    told: Vec<(Time, Told)>,
}

/// A congestion control of fixed rates, which writes down what it is told.
#[derive(Clone, Debug)]
struct Metronome(Arc<Mutex<State>>);

impl Metronome {
    fn new(rates: [u64; 2]) -> Self {
        let state = State { rates, is_rate_based: true, holds_back: false, told: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    fn note(&self, now: Time, told: Told) {
        self.0.lock().unwrap().told.push((now, told));
    }

    /// What it was told since this was asked last.
    fn take(&self) -> Vec<(Time, Told)> {
        core::mem::take(&mut self.0.lock().unwrap().told)
    }

    fn take_restarts(&self) -> Vec<Told> {
        let told = self.take().into_iter().map(|(_, told)| told);
        told.filter(|told| matches!(told, Told::Restart(..))).collect()
    }

    fn take_samples(&self) -> Vec<RateSample> {
        let of = |(_, told)| if let Told::Sample(sample) = told { Some(sample) } else { None };
        self.take().into_iter().filter_map(of).collect()
    }

    /// Losses alone: transmissions, then the reaction to them.
    fn take_losses(&self) -> Vec<(Time, Told)> {
        let is_loss = |(_, told): &_| matches!(told, Told::Gone(..) | Told::Lost(..));
        self.take().into_iter().filter(is_loss).collect()
    }
}

impl Policy for Metronome {
    fn name(&self) -> &'static str {
        "metronome"
    }
}

impl CongestionControl for Metronome {
    fn path_added(&mut self, _: &AssocView<'_>, _: PathId) {}

    fn on_acked(&mut self, _: &AssocView<'_>, _: &AckedInfo) {}

    fn on_rate_sample(&mut self, view: &AssocView<'_>, _: PathId, sample: &RateSample) {
        self.note(view.now, Told::Sample(*sample));
    }

    fn on_transmission_lost(&mut self, view: &AssocView<'_>, path: PathId, l: &LostTransmission) {
        self.note(view.now, Told::Gone(path, *l));
    }

    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        self.note(view.now, Told::Lost(ev.path, ev.kind));
    }

    fn on_restart(&mut self, view: &AssocView<'_>, path: PathId, is_app_limited: bool) {
        assert_eq!(view.path(path).unwrap().outstanding, 0);
        self.note(view.now, Told::Restart(path, is_app_limited));
    }

    fn on_resumed(&mut self, _: &AssocView<'_>, _: PathId, _: u32) {}

    fn pacing_rate(&self, _: &AssocView<'_>, path: PathId) -> Option<u64> {
        Some(self.0.lock().unwrap().rates[path.index()])
    }

    fn is_rate_based(&self) -> bool {
        self.0.lock().unwrap().is_rate_based
    }

    fn bandwidth(&self, path: PathId) -> Option<NonZeroU64> {
        NonZeroU64::new(self.0.lock().unwrap().rates[path.index()])
    }

    fn holds_back(&self, _: PathId) -> bool {
        self.0.lock().unwrap().holds_back
    }

    fn cwnd(&self, _: PathId) -> u64 {
        WINDOW
    }

    fn ssthresh(&self, _: PathId) -> u64 {
        WINDOW
    }
}

/// Path 0 while it takes data, else path 1; or path 0 alone.
#[derive(Debug)]
struct FirstOpen {
    alone: bool,
}

impl Policy for FirstOpen {
    fn name(&self) -> &'static str {
        "first open"
    }
}

impl PathScheduler for FirstOpen {
    fn pick_path(&mut self, view: &AssocView<'_>, _: &ChunkMeta) -> PathPick {
        let taken = if self.alone { 1 } else { view.paths.len() };
        let open = view.paths.iter().take(taken).find(|path| path.sendable);
        open.map_or(PathPick::Wait, |path| PathPick::Use(path.id))
    }
}

impl PolicyFactory for Metronome {
    fn build(&self, cc: &CcConfig, _: &mut Rng) -> PolicySet {
        let path_scheduler = Box::new(FirstOpen { alone: false });
        PolicySet { congestion: Box::new(self.clone()), path_scheduler, ..PolicySet::rfc9260(cc) }
    }
}

/// The same on path 0 alone.
#[derive(Debug)]
struct OnFirst(Metronome);

impl PolicyFactory for OnFirst {
    fn build(&self, cc: &CcConfig, rng: &mut Rng) -> PolicySet {
        PolicySet { path_scheduler: Box::new(FirstOpen { alone: true }), ..self.0.build(cc, rng) }
    }
}

/// A client with this congestion control on so many paths, with measured round trips.
fn connected(metronome: &Metronome, paths: usize, recovery: RecoveryConfig) -> Pair {
    let config = AssocConfig {
        recovery,
        max_burst: None,
        policies: Arc::new(metronome.clone()),
        ..AssocConfig::default()
    };
    connected_with(metronome, paths, config)
}

fn connected_with(metronome: &Metronome, paths: usize, config: AssocConfig) -> Pair {
    let addresses = |all: [core::net::IpAddr; 2]| all[..paths].to_vec();
    let mut pair = Pair::with(
        endpoint(CLIENT_PORT, &addresses(client_addresses())),
        endpoint(SERVER_PORT, &addresses(server_addresses())),
    );
    let tuples = &client_paths()[..paths];
    pair.client.endpoint.connect(pair.now, tuples, SERVER_PORT, Arc::new(config)).unwrap();
    pair.run_for(ms(500));
    send(&mut pair, 20);
    pair.run_for(ms(500));
    metronome.take();
    pair
}

/// Hands in messages of one packet each.
fn send(pair: &mut Pair, messages: usize) {
    let now = pair.now;
    for _ in 0..messages {
        let data = Bytes::from_static(&[7; MESSAGE]);
        client(pair).send(now, StreamId(0), data, SendOptions::default()).unwrap();
    }
    pair.exchange_packets();
}

fn view(pair: &Pair, path: PathId) -> PathView {
    *pair.client.association().view(pair.now).path(path).unwrap()
}

fn has_data(packet: &Packet) -> bool {
    packet.way == Way::ToServer && packet.kinds().contains(&kind::DATA)
}

/// Loses the packets with DATA, from now on, whose number among them is one of these.
fn lose(pair: &mut Pair, numbers: core::ops::Range<usize>) {
    let mut next = 0;
    pair.lose_packets(move |packet| {
        if !has_data(packet) {
            return Verdict::Deliver;
        }
        next += 1;
        if numbers.contains(&(next - 1)) { Verdict::Lose } else { Verdict::Deliver }
    });
}

/// When packets with DATA left on the client's path `i`, since the log had so many entries.
fn departures(pair: &Pair, since: usize, i: usize) -> Vec<Time> {
    let there = reverse_tuple(client_paths()[i]);
    let sent = pair.sent_since(since).iter().filter(|p| p.tuple == there && has_data(p));
    sent.map(|p| p.at - ms(10)).collect()
}

/// Whether never more left together than three packets, and then one per `spacing`.
fn is_paced(departures: &[Time], spacing: Duration) -> bool {
    let later = |i: usize| departures.get(i..).unwrap_or_default();
    let fits = |i: usize, first: Time| {
        later(i).iter().zip(0..).all(|(&at, n)| at >= first + spacing * n - spacing * 2)
    };
    departures.iter().enumerate().all(|(i, &first)| fits(i, first))
}

#[test]
fn packets_leave_at_the_pacing_rate() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    let (since, now) = (pair.log.len(), pair.now);
    send(&mut pair, 50);
    pair.run_for(ms(200));
    // Headers that are no chunk's do not count: the rate is one of chunks.
    let expected: Vec<Time> = (0..50_u64).map(|n| now + ms(n.saturating_sub(2))).collect();
    assert_eq!(departures(&pair, since, 0), expected);
}

#[test]
fn retransmissions_do_too() {
    let metronome = Metronome::new([FAST; 2]);
    for recovery in [RecoveryConfig::OFF, RecoveryConfig::MODERN] {
        let mut pair = connected(&metronome, 1, recovery);
        let since = pair.log.len();
        lose(&mut pair, 5..45);
        send(&mut pair, 100);
        pair.run_for(ms(2000));
        let all = departures(&pair, since, 0);
        assert!(all.len() >= 140, "{}", all.len());
        assert!(is_paced(&all, ms(1)), "{all:?}");
        assert_eq!(view(&pair, PATH).outstanding, 0);
    }
}

#[test]
fn where_windows_send_they_do_not_wait() {
    let metronome = Metronome::new([FAST; 2]);
    metronome.0.lock().unwrap().is_rate_based = false;
    let config = AssocConfig {
        pacing: true,
        max_burst: None,
        policies: Arc::new(metronome.clone()),
        ..AssocConfig::default()
    };
    let mut pair = connected_with(&metronome, 1, config);
    let since = pair.log.len();
    lose(&mut pair, 5..45);
    send(&mut pair, 100);
    pair.run_for(ms(2000));
    assert!(!is_paced(&departures(&pair, since, 0), ms(1)));
}

#[test]
fn retransmissions_after_a_timeout_do_too() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    let since = pair.log.len();
    lose(&mut pair, 0..30);
    send(&mut pair, 30);
    pair.run_for(ms(5000));
    let all = departures(&pair, since, 0);
    assert!(pair.client.association().stats().timeouts > 0 && all.len() >= 60, "{}", all.len());
    assert!(is_paced(&all, ms(1)), "{all:?}");
}

#[test]
fn a_path_whose_time_has_not_come_leaves_data_to_the_other() {
    let metronome = Metronome::new([SLOW, FAST]);
    let mut pair = connected(&metronome, 2, RecoveryConfig::OFF);
    let since = pair.log.len();
    send(&mut pair, 500);
    pair.run_for(ms(100));
    let (slow, fast) = (departures(&pair, since, 0), departures(&pair, since, 1));
    assert_eq!((slow.len(), fast.len()), (3 + 10, 3 + 100));
    assert!(is_paced(&slow, ms(10)) && is_paced(&fast, ms(1)));
}

#[test]
fn windows_bound_what_is_in_flight() {
    let metronome = Metronome::new([1000 * FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    pair.client.saturates = Some(MESSAGE);
    let (now, h) = (pair.now, pair.client.handle());
    pair.client.fill_send_buffer(now, h);
    pair.run_for(ms(9));
    let outstanding = view(&pair, PATH).outstanding;
    assert!(outstanding <= WINDOW + CHUNK && outstanding > WINDOW / 2, "{outstanding}");
}

#[test]
fn the_window_of_a_path_in_recovery_is_that_of_the_control() {
    let metronome = Metronome::new([FAST; 2]);
    // Some losses are found by a SACK, one of the last packets by the timer.
    for lost in [10..15, 48..49] {
        let mut pair = connected(&metronome, 1, RecoveryConfig::MODERN);
        lose(&mut pair, lost);
        send(&mut pair, 50);
        let mut in_recovery = 0;
        for _ in 0..100 {
            pair.run_for(ms(1));
            let path = view(&pair, PATH);
            in_recovery += u32::from(path.in_recovery);
            assert_eq!((path.cwnd, path.ssthresh), (WINDOW, WINDOW));
        }
        assert!(in_recovery >= 10, "{in_recovery}");
    }
}

#[test]
fn waiting_for_the_pacer_is_no_limit_of_the_application() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    send(&mut pair, 300);
    pair.run_for(ms(60));
    metronome.take();
    pair.run_for(ms(200));
    let samples = metronome.take_samples();
    assert!(samples.len() > 50 && samples.iter().all(|sample| !sample.is_app_limited));
    // A packet in a millisecond.
    let rate = samples.last().unwrap().bytes_per_second().unwrap();
    assert!((rate / FAST as f64 - 1.0).abs() < 0.06, "{rate}");
}

#[test]
fn nor_is_it_while_the_scheduler_leaves_another_path_idle() {
    let metronome = Metronome::new([FAST; 2]);
    let policies = Arc::new(OnFirst(metronome.clone()));
    let config = AssocConfig { max_burst: None, policies, ..AssocConfig::default() };
    let mut pair = connected_with(&metronome, 2, config);
    send(&mut pair, 300);
    pair.run_for(ms(60));
    metronome.take();
    pair.run_for(ms(200));
    let samples = metronome.take_samples();
    assert!(samples.len() > 50 && samples.iter().all(|sample| !sample.is_app_limited));
}

#[test]
fn the_pacer_is_what_limits_a_path_that_waits_for_it() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    send(&mut pair, 300);
    pair.run_for(ms(100));
    assert_eq!(pair.client.association().limits(pair.now).current, Limit::Pacing);
}

#[test]
fn samples_of_a_path_that_is_held_back_count_as_limited_by_the_application() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    send(&mut pair, 400);
    pair.run_for(ms(60));
    metronome.0.lock().unwrap().holds_back = true;
    pair.run_for(ms(30));
    metronome.take();
    pair.run_for(ms(100));
    let samples = metronome.take_samples();
    assert!(samples.len() > 20 && samples.iter().all(|sample| sample.is_app_limited));
    metronome.0.lock().unwrap().holds_back = false;
    pair.run_for(ms(60));
    metronome.take();
    pair.run_for(ms(50));
    assert!(metronome.take_samples().iter().all(|sample| !sample.is_app_limited));
}

#[test]
fn a_restart_is_told_when_nothing_was_in_flight_and_only_then() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    for _ in 0..3 {
        send(&mut pair, 10);
        pair.run_for(ms(15));
        send(&mut pair, 1);
        pair.run_for(ms(500));
        assert_eq!(metronome.take_restarts(), [Told::Restart(PATH, true)]);
    }
    pair.run_for(ms(5000));
    assert_eq!(metronome.take_restarts(), [], "a heartbeat is no data");
}

#[test]
fn each_path_restarts_for_itself() {
    let metronome = Metronome::new([SLOW, FAST]);
    let mut pair = connected(&metronome, 2, RecoveryConfig::OFF);
    send(&mut pair, 1);
    pair.run_for(ms(5));
    assert_eq!(metronome.take_restarts(), [Told::Restart(PATH, true)]);
    send(&mut pair, 20);
    pair.run_for(ms(200));
    assert_eq!(metronome.take_restarts()[0], Told::Restart(PathId(1), true));
}

#[test]
fn what_goes_out_again_after_a_timeout_restarts_the_path_too() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    lose(&mut pair, 0..1);
    send(&mut pair, 1);
    metronome.take();
    pair.run_for(ms(2000));
    assert_eq!(pair.client.association().stats().timeouts, 1);
    assert_eq!(metronome.take_restarts().len(), 1);
}

/// What the losses of `told` on the path add up to: transmissions and bytes.
fn total(told: &[(Time, Told)]) -> (usize, u64) {
    let bytes = |told: &(Time, Told)| match told.1 {
        Told::Gone(PATH, lost) => Some(lost.bytes),
        _ => None,
    };
    let all: Vec<u64> = told.iter().filter_map(bytes).collect();
    (all.len(), all.iter().sum())
}

#[test]
fn what_a_timeout_loses_is_told_before_the_timeout() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::OFF);
    lose(&mut pair, 0..10);
    send(&mut pair, 10);
    pair.run_for(ms(900));
    assert_eq!(metronome.take_losses(), []);
    pair.run_for(ms(500));
    let told = metronome.take_losses();
    // Three left together, then one by one.
    assert_eq!(total(&told), (8, 10 * CHUNK));
    assert_eq!(told.last().unwrap().1, Told::Lost(PATH, LossKind::Timeout));
    assert!(told.iter().all(|(at, _)| *at == told[0].0), "all at one time: {told:?}");
    let Told::Gone(_, first) = told[0].1 else { panic!("{told:?}") };
    assert_eq!((first.bytes, first.sent_in_flight, first.lost), (3 * CHUNK, 3 * CHUNK, 3 * CHUNK));
}

#[test]
fn what_a_sack_shows_to_be_lost_is_told_before_its_sample() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::MODERN);
    lose(&mut pair, 10..12);
    send(&mut pair, 50);
    pair.run_for(ms(200));
    let told = metronome.take();
    let is_gone = |(_, told): &(Time, Told)| matches!(told, Told::Gone(..));
    let first = told.iter().position(is_gone).unwrap();
    let after: Vec<_> = told[first..].iter().filter(|(at, _)| *at == told[first].0).collect();
    let sample = after.iter().position(|(_, told)| matches!(told, Told::Sample(_))).unwrap();
    let lost = after.iter().position(|(_, told)| matches!(told, Told::Lost(..))).unwrap();
    assert!(sample < lost, "{after:?}");
    assert_eq!(total(&told), (2, 2 * CHUNK));
}

#[test]
fn what_the_timer_of_rack_loses_is_told() {
    let metronome = Metronome::new([FAST; 2]);
    let mut pair = connected(&metronome, 1, RecoveryConfig::MODERN);
    // The last but one: its successor's SACK comes, and a quarter of a round trip later nothing.
    lose(&mut pair, 8..9);
    send(&mut pair, 10);
    pair.run_for(ms(200));
    let told = metronome.take();
    let at = told.iter().find(|(_, told)| matches!(told, Told::Gone(..))).unwrap().0;
    let then: Vec<_> = told.iter().filter(|(time, _)| *time == at).map(|(_, told)| *told).collect();
    let [Told::Gone(PATH, gone), Told::Lost(PATH, LossKind::FastRetransmit), ..] = then[..] else {
        panic!("{then:?}")
    };
    assert_eq!((gone.bytes, gone.lost), (CHUNK, CHUNK));
    assert!(!then.iter().any(|told| matches!(told, Told::Sample(_))), "no SACK: {then:?}");
}

#[test]
fn schedulers_see_the_bandwidth() {
    let metronome = Metronome::new([SLOW, FAST]);
    let pair = connected(&metronome, 2, RecoveryConfig::OFF);
    let seen = [0, 1].map(|p| view(&pair, PathId(p)).bandwidth.map(NonZeroU64::get));
    assert_eq!(seen, [Some(SLOW), Some(FAST)]);
}
