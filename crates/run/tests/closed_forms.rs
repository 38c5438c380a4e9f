//! The simulator against what can be derived without it.

use crate::common::{MS, PathSpec, S, policies, s0, world};
use polypath_policies::PolicySpec;
use polypath_proto::config::{AssocConfig, CcConfig, CmtConfig, CwndUnit, NrSack};
use polypath_sim::results::FlowResult;
use polypath_sim::spec::{AppSpec, MessageSpec, Refill, TimeSpec};

const SECONDS: TimeSpec = TimeSpec { settle: 20 * S, measure: 60 * S, stop_when_done: false };

fn saturated(streams: u16) -> AppSpec {
    let messages = MessageSpec { streams, ..MessageSpec::default() };
    AppSpec::Saturated { messages, refill: Refill::RoundRobin }
}

fn run(
    paths: &[PathSpec],
    assoc: AssocConfig,
    app: AppSpec,
    time: TimeSpec,
    seed: u64,
) -> FlowResult {
    let result = polypath_sim::run(&world(paths, assoc, app, time), seed, None).unwrap();
    let flow = result.flows.into_iter().next().unwrap();
    assert!(flow.integrity.holds(), "{:?}", flow.integrity);
    flow
}

fn mbit(flow: &FlowResult) -> f64 {
    flow.total.goodput / 1e6
}

#[test]
fn two_equal_paths_carry_what_two_paths_can() {
    let assoc = AssocConfig {
        // A lost retransmission costs a second of RTO, which buffers must bridge.
        send_buffer: 4 << 20,
        receive_buffer: 4 << 20,
        policies: policies(|_| {}),
        ..AssocConfig::default()
    };
    let paths = [PathSpec::plain(10, 10), PathSpec::plain(10, 10)];
    let f = run(&paths, assoc, saturated(1), SECONDS, 1);
    println!(
        "{:?} {:?} {:?} blocked {}",
        f.paths, f.counters, f.receive_buffer, f.blocked_by_peer_window
    );
    let goodput = mbit(&f);
    let limit = 2.0 * 10.0 * 1452.0 / 1500.0;
    assert!(goodput >= 0.99 * limit && goodput <= limit * 1.0001, "{goodput} of {limit} Mbit/s");
}

/// The square root law with one window's growth per round trip: byte counting makes it so in spite
/// of delayed SACKs.
#[test]
fn random_loss_leaves_what_the_square_root_law_says() {
    for p in [0.001, 0.002, 0.005, 0.01] {
        let assoc = AssocConfig {
            send_buffer: 8 << 20,
            receive_buffer: 8 << 20,
            congestion: CcConfig { unit: CwndUnit::PathMtu, ..CcConfig::default() },
            policies: policies(|_| {}),
            ..AssocConfig::default()
        };
        let mut path = PathSpec::plain(100, 45);
        path.queue = 1000;
        path.loss = p;
        let mut spec =
            world(&[path], assoc, saturated(1), TimeSpec { measure: 600 * S, ..SECONDS });
        // The law knows losses of data only.
        let reverse = spec.topology.links.iter_mut().filter(|l| l.name.contains("reverse"));
        reverse.for_each(|l| l.config.loss.clear());
        let result = polypath_sim::run(&spec, 1, None).unwrap();
        let goodput = mbit(&result.flows[0]);
        let law = 1452.0 * 8.0 / 0.090 * (3.0 / (2.0 * p)).sqrt() / 1e6;
        println!("p {p}: {goodput:.3} Mbit/s, law {law:.3}, ratio {:.3}", goodput / law);
        assert!((goodput / law - 1.0).abs() <= 0.15, "p = {p}: {goodput:.3}, law {law:.3} Mbit/s");
    }
}

/// S0's set-up: two paths of 10 Mbit/s with 10 and `delay_b` ms, buffers of `kib`, both split by
/// queued bytes.
fn s0_run(fixed: bool, delay_b: u64, kib: u32) -> FlowResult {
    let mut assoc = s0(kib << 10);
    assoc.cmt = CmtConfig { nr_sack: NrSack::Delivered, ..CmtConfig::default() };
    assoc.policies = policies(|p: &mut PolicySpec| {
        p.path_scheduler = if fixed { "fixed?map=0:0,1:1" } else { "rr" }.into();
        p.stream_scheduler = "rr".into();
        p.retransmission = "rfc9260".into();
        p.buffer = "split?side=both&by=queued".into();
    });
    let paths = [PathSpec::plain(10, 10), PathSpec::plain(10, delay_b)];
    let mut spec = world(&paths, assoc, saturated(2), SECONDS);
    spec.flows[0].start_at = S;
    spec.flows[0].start_jitter = 100 * MS;
    let result = polypath_sim::run(&spec, 1, None).unwrap();
    let flow = result.flows.into_iter().next().unwrap();
    assert!(flow.integrity.holds());
    flow
}

/// At least 95 % of what the links carry.
const FULL: f64 = 0.95 * 19.36;

#[test]
fn fixed_mapping_is_full_at_224_kib_and_round_robin_at_288() {
    for kib in [64, 128, 160, 192, 224, 256, 288, 320] {
        println!(
            "{kib} KiB: fixed {:.2}, rr {:.2}",
            mbit(&s0_run(true, 75, kib)),
            mbit(&s0_run(false, 75, kib))
        );
    }
    let fixed = |kib| mbit(&s0_run(true, 75, kib));
    let rr = |kib| mbit(&s0_run(false, 75, kib));
    assert!(fixed(192) < FULL && fixed(224) >= FULL, "fixed: {} {}", fixed(192), fixed(224));
    assert!(rr(256) < FULL && rr(288) >= FULL, "round robin: {} {}", rr(256), rr(288));
}

#[test]
fn message_delay_grows_linearly_with_the_buffer() {
    let sizes = [96, 128, 160, 192, 224, 256];
    let delays: Vec<f64> =
        sizes.iter().map(|&kib| s0_run(false, 10, kib).total.delay.unwrap().mean / 1e9).collect();
    // Least squares; the slope of a full buffer is 8 bits per byte over the goodput.
    let n = sizes.len() as f64;
    let xs: Vec<f64> = sizes.iter().map(|&k| f64::from(k << 10)).collect();
    let (mx, my) = (xs.iter().sum::<f64>() / n, delays.iter().sum::<f64>() / n);
    let sxy: f64 = xs.iter().zip(&delays).map(|(x, y)| (x - mx) * (y - my)).sum();
    let sxx: f64 = xs.iter().map(|x| (x - mx).powi(2)).sum();
    let syy: f64 = delays.iter().map(|y| (y - my).powi(2)).sum();
    let (slope, r2) = (sxy / sxx, sxy * sxy / (sxx * syy));
    let expected = 8.0 / 19.36e6;
    println!("delays {delays:?}, slope {slope:e}, expected {expected:e}, R2 {r2}");
    assert!(r2 >= 0.98, "R2 = {r2}");
    assert!((slope / expected - 1.0).abs() <= 0.1, "slope {slope:e}, expected {expected:e}");
}
