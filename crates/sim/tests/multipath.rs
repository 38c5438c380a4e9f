//! Several paths and several flows.

use crate::common;
use std::sync::Arc;

use crate::common::{MS, SEC, assoc, link, lossy, run, saturated, seconds, world};
use bytes::Bytes;
use polypath_policies::PolicySpec;
use polypath_proto::config::{AssocConfig, CmtConfig, NrSack};
use polypath_proto::{PathId, view::PathAdmin};
use polypath_sim::results::Outcome;
use polypath_sim::spec::{
    Action, ActionSpec, AppSpec, EndSpec, FileContent, MessageSpec, Refill, TimeSpec,
};

#[test]
fn two_equal_paths_carry_twice_the_rate() {
    let mut spec = world(&[link(10, 10), link(10, 10)], saturated(), 256 << 10);
    spec.time = seconds(19, 30);
    let flow = run(&spec, 1).flows.remove(0);
    let full = 2.0 * 10e6 * 1452.0 / 1500.0;
    assert!(flow.total.goodput > 0.99 * full, "{} of {full}", flow.total.goodput);
    assert_eq!(flow.paths.len(), 2);
    for (path, name) in flow.paths.iter().zip(["A", "B"]) {
        assert_eq!(path.name, name);
        assert!((path.payload_rate / (full / 2.0) - 1.0).abs() < 0.02, "{path:?}");
    }
}

#[test]
fn real_bytes_arrive_as_they_were() {
    let bytes: Bytes = (0..500_000u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
    let messages =
        MessageSpec { bytes: 4000, streams: 4, unordered: true, ..MessageSpec::default() };
    let app = AppSpec::File { content: FileContent::Bytes(bytes.clone()), messages };
    let links = [lossy(10, 10, 0.01), lossy(10, 50, 0.02), link(2, 100)];
    let mut spec = world(&links, app, 200_000);
    spec.time = seconds(0, 300);
    let flow = run(&spec, 1).flows.remove(0);
    assert_eq!(flow.outcome, Outcome::Finished);
    assert_eq!(flow.file, Some(bytes));
    assert_eq!(flow.total.bytes, flow.streams.iter().map(|stream| stream.bytes).sum::<u64>());
    assert!(flow.counters.retransmissions_fast > 0);
}

#[test]
fn flows_share_a_bottleneck() {
    let mut spec = world(&[link(10, 10)], saturated(), 100_000);
    let mut second = spec.flows[0].clone();
    second.name = "second".into();
    second.client = EndSpec { port: 6000, assoc: assoc(100_000) };
    second.server = EndSpec { port: 6001, assoc: assoc(100_000) };
    second.connect_jitter = 100 * MS;
    spec.flows.push(second);
    spec.time = seconds(10, 60);
    let result = run(&spec, 1);
    let goodputs: Vec<_> = result.flows.iter().map(|flow| flow.total.goodput).collect();
    let sum: f64 = goodputs.iter().sum();
    assert!(sum > 0.97 * 9.68e6 && sum < 9.69e6, "{goodputs:?}");
    assert!(goodputs.iter().all(|&goodput| goodput > 1e6), "{goodputs:?}");
    assert!(result.flows.iter().all(|flow| flow.times.connect.unwrap() <= 100 * MS));
}

#[test]
fn contingents_keep_a_slow_stream_from_filling_the_send_buffer() {
    let fixed = |refill| {
        let spec = PolicySpec {
            path_scheduler: "fixed".into(),
            buffer: "split".into(),
            ..PolicySpec::default()
        };
        let policies = polypath_policies::factory(&spec).unwrap();
        let cmt = CmtConfig { nr_sack: NrSack::Delivered, ..CmtConfig::default() };
        let config = AssocConfig { policies, cmt, ..(*assoc(400_000)).clone() };
        let messages = MessageSpec { streams: 2, ..MessageSpec::default() };
        let app = AppSpec::Saturated { messages, refill };
        let mut world = world(&[link(10, 10), link(50, 10)], app, 0);
        world.flows[0] = world.flows[0].clone().with_assoc(Arc::new(config));
        world.time = seconds(10, 20);
        run(&world, 1).flows.remove(0)
    };
    // S0 figure 6: without contingents both streams get the rate of the slow path.
    let strict = fixed(Refill::RoundRobin);
    let ratio = strict.streams[1].goodput / strict.streams[0].goodput;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    let contingent = fixed(Refill::Contingent);
    let ratio = contingent.streams[1].goodput / contingent.streams[0].goodput;
    assert!(ratio > 3.0, "{ratio}");
}

#[test]
fn actions_reach_the_association() {
    let mut spec = world(&[link(10, 10), link(10, 10)], saturated(), 100_000);
    let flow = || "flow".to_owned();
    let off = Action::PathAdmin { flow: flow(), path: PathId(1), admin: PathAdmin::Disabled };
    spec.actions = vec![
        ActionSpec { at: 8 * SEC, action: Action::Shutdown(flow()) },
        ActionSpec { at: 2 * SEC, action: off },
    ];
    spec.time = TimeSpec { settle: 4 * SEC, measure: 10 * SEC, stop_when_done: true };
    let flow = run(&spec, 1).flows.remove(0);
    assert_eq!(flow.outcome, Outcome::Finished);
    assert!(flow.times.closed.unwrap() < 9 * SEC);
    assert!(flow.paths[0].payload_bytes > 3_000_000, "{:?}", flow.paths[0]);
    assert_eq!(flow.paths[1].payload_bytes, 0, "disabled before measuring");
}

#[test]
fn an_unreachable_server_is_a_failure_not_a_hang() {
    let mut spec = world(&[link(10, 10)], common::file(1000), 100_000);
    spec.actions = vec![ActionSpec { at: 0, action: Action::CutPath("A".into()) }];
    spec.time = seconds(0, 10_000);
    let result = run(&spec, 1);
    assert!(matches!(result.flows[0].outcome, Outcome::Failed(_)), "{:?}", result.flows[0].outcome);
    assert!(result.end < 10_000 * SEC);
    assert_eq!(result.flows[0].total.messages, 0);
}

#[test]
fn time_series_are_sampled() {
    let mut spec = world(&[link(10, 10), link(10, 30)], saturated(), 100_000);
    spec.sample_every = Some(100 * MS);
    spec.time = seconds(0, 5);
    let flow = run(&spec, 1).flows.remove(0);
    assert!(flow.samples.len() >= 49);
    let last = flow.samples.last().unwrap();
    assert_eq!(last.paths.len(), 2);
    assert_eq!(last.send_buffer_streams, [last.send_buffer]);
    assert!(last.paths.iter().all(|path| path.cwnd > 0 && path.srtt.unwrap() >= 20 * MS));
    assert!(flow.samples.windows(2).all(|pair| pair[1].at - pair[0].at == 100 * MS));
}
