//! A path is cut silently for five seconds in the middle of a saturated transfer: what the
//! application receives, in bins of 50 ms, is soon back at what the other path carries, and after
//! the path is back soon at what both carry.

use polypath_run::{Recording, run};
use polypath_scenario::{Scenario, Source};
use polypath_sim::results::{RunResult, Sample};

const BIN: f64 = 0.05;

/// The kinds of flow: unordered, one ordered stream, two.
const FLOWS: [&str; 3] = ["unordered = true", "", "streams = 2\nper-stream-backlog = true"];

/// Two paths of these Mbit/s and ms; `link` is cut at `at` for 5 s.
fn scenario(rate: u32, delay: u32, link: &str, at: f64, flow: &str, stack: &str) -> Scenario {
    let path = |name: &str| {
        format!("[path.{name}]\nrate = '{rate}Mbit/s'\ndelay = '{delay}ms'\nqueue = '100packets'\n")
    };
    let change = |at: f64, action: &str| {
        format!("[[at]]\ntime = '{at:.3}s'\ntarget = '{link}'\naction = '{action}'\n")
    };
    let text = format!(
        "{}{}{}{}
        [stack]
        profile = 'fast'
        send-buffer = '256KiB'
        receive-buffer = '256KiB'
        path-scheduler = 'knapsack'
        sack-path = 'smallest-srtt'
        rtt-same-path = false
        rack = true
        tail-probe = true
        rate-reduction = true
        f-rto = true
        {stack}
        [[flow]]
        app = 'saturated'
        {flow}
        [time]
        settle = '2s'
        measure = '{:.3}s'
        sample = '10ms'",
        path("A"),
        path("B"),
        change(at, "cut"),
        change(at + 5.0, "restore"),
        at + 6.5,
    );
    Source::new("failover", &text)
        .unwrap()
        .parse_scenario()
        .unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(scenario: &Scenario) -> RunResult {
    run(scenario, 1, Recording::default(), &mut |_| ()).unwrap()
}

fn delivered(samples: &[Sample], seconds: f64) -> f64 {
    let at = (seconds * 1e9).round() as u64;
    let next = samples.partition_point(|sample| sample.at <= at);
    samples[next - 1].delivered as f64
}

/// Seconds after `from` at which four bins in a row reach `share` of `rate`, bytes per second.
fn reached(result: &RunResult, from: f64, rate: f64, share: f64) -> f64 {
    let samples = &result.flows[0].samples;
    let bin = |i: usize| {
        let start = from + i as f64 * BIN;
        delivered(samples, start + BIN) - delivered(samples, start)
    };
    let high = |i: usize| bin(i) >= share * rate * BIN;
    let found = (0..60).find(|&i| (i..i + 4).all(high));
    found.map_or(f64::INFINITY, |i| i as f64 * BIN)
}

/// Times to 80 % of one path after the cut, and to 90 % of both after the restoration.
fn times(scenario: &Scenario, rate: u32, at: f64) -> (f64, f64) {
    let result = simulate(scenario);
    let one = f64::from(rate) * 1e6 / 8.0 * 1452.0 / 1500.0;
    (reached(&result, at, one, 0.8), reached(&result, at + 5.0, 2.0 * one, 0.9))
}

#[test]
fn a_cut_path_is_missed_within_three_round_trips_and_taken_back_within_ten() {
    for (rate, delay) in [(20, 5), (10, 45)] {
        for flow in FLOWS {
            for (link, ms) in [("A", 0), ("A", 91), ("B", 39), ("B", 143)] {
                let at = 6.0 + f64::from(ms) / 1000.0;
                let scenario = scenario(rate, delay, link, at, flow, "");
                let (back, whole) = times(&scenario, rate, at);
                let what = format!("2 x {rate} Mbit/s, {delay} ms, {link} cut at {at}, '{flow}'");
                // 0.35 s or three round trips, and 2 s or ten: the longer ones.
                assert!(back <= 0.35, "{what}: back after {back} s");
                assert!(whole <= 2.0, "{what}: whole after {whole} s");
            }
        }
    }
}

#[test]
fn without_rescheduling_an_ordered_stream_waits_for_the_timeout() {
    let stack = "rescheduling = 'off'\npf-probe = 'off'\npf-return-cwnd = '2mtu'";
    let (back, whole) = times(&scenario(10, 45, "B", 6.0, FLOWS[1], stack), 10, 6.0);
    assert!(back > 0.35 && whole > 2.0, "{back} {whole}");
}

/// A path that becomes slow all at once is not given up: nothing is declared lost.
#[test]
fn a_path_that_becomes_slow_is_kept() {
    for (before, after) in [(20, 60), (40, 100)] {
        let text = format!(
            "
            [path.A]\nrate = '10Mbit/s'\ndelay = '20ms'
            [path.B]\nrate = '10Mbit/s'\ndelay = '{before}ms'
            [[at]]\ntime = '6s'\ntarget = 'B'\ndelay = '{after}ms'
            [stack]\nprofile = 'fast'\npath-scheduler = 'min-rtt'\nrtt-same-path = false
            [[flow]]\napp = 'saturated'\nunordered = true
            [time]\nsettle = '7s'\nmeasure = '5s'"
        );
        let scenario = Source::new("slower", &text).unwrap().parse_scenario().unwrap();
        let flow = &simulate(&scenario).flows[0];
        assert!(flow.total.goodput > 0.9 * 2.0 * 9.68e6, "{after} ms: {}", flow.total.goodput);
        assert_eq!(flow.counters.timeouts, 0);
    }
}
