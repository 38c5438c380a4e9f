//! Interleaving (RFC 8260): a large message of one stream does not hold up the small ones of
//! another.

use std::sync::Arc;

use crate::common::{MS, SEC, assoc, link, lossy, run, seconds, world};
use polypath_link::Queue;
use polypath_policies::PolicySpec;
use polypath_proto::Reliability;
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_sim::results::{DelaySummary, FlowResult};
use polypath_sim::spec::{AppSpec, BesideSpec, MessageSpec, Refill, WorldSpec};

/// Stream 0 sends messages of 10 MB without end over 10 Mbit/s, and stream 1 one of 100 bytes every
/// 50 ms.
fn one_large_many_small(interleaving: bool, scheduler: &str) -> WorldSpec {
    let mut path = link(10, 20);
    path.queue = Queue::DropTailPackets(20);
    let messages = MessageSpec { bytes: 10_000_000, ..MessageSpec::default() };
    let app = AppSpec::Saturated { messages, refill: Refill::RoundRobin };
    let mut spec = world(&[path], app, 64 << 20);
    let policies = PolicySpec { stream_scheduler: scheduler.into(), ..PolicySpec::default() };
    let config = AssocConfig {
        policies: polypath_policies::factory(&policies).unwrap(),
        extensions: ExtensionConfig { interleaving, ..ExtensionConfig::NONE },
        ..(*assoc(64 << 20)).clone()
    };
    spec.flows[0] = spec.flows[0].clone().with_assoc(Arc::new(config));
    let needs = Default::default();
    spec.flows[0].beside = vec![BesideSpec {
        bytes: 100,
        every: 50 * MS,
        unordered: false,
        reliability: Reliability::Full,
        needs,
    }];
    spec.time = seconds(5, 60);
    spec
}

fn small(flow: &FlowResult) -> DelaySummary {
    flow.streams[1].delay.expect("small messages arrived")
}

#[test]
fn small_messages_wait_for_a_large_one_only_without_interleaving() {
    for scheduler in ["rr", "priority?values=0:1", "fair", "wfq"] {
        let delays = |interleaving| {
            let spec = one_large_many_small(interleaving, scheduler);
            let flow = run(&spec, 1).flows.remove(0);
            let delay = small(&flow);
            println!(
                "{scheduler}, interleaving {interleaving}: mean {:.1} ms, 95 % {:.1} ms, max {:.1} ms; \
                 goodput {:.3} Mbit/s",
                delay.mean / 1e6,
                delay.p95 as f64 / 1e6,
                delay.max as f64 / 1e6,
                flow.total.goodput / 1e6
            );
            (delay, flow.total.goodput)
        };
        let ((waiting, before), (passing, after)) = (delays(false), delays(true));
        // A message of 10 MB takes 8 s; the path 20 ms, and its queue up to 24 ms.
        assert!(waiting.mean > SEC as f64 && waiting.max > 7 * SEC, "{waiting:?}");
        assert!(passing.p50 < 50 * MS && passing.p95 < 100 * MS, "{passing:?}");
        // Four bytes of header per chunk.
        assert!(after > 0.99 * before, "{after} of {before}");
    }
}

#[test]
fn first_come_first_served_does_not_interleave() {
    let flow = run(&one_large_many_small(true, "fcfs"), 1).flows.remove(0);
    assert!(small(&flow).mean > SEC as f64);
}

#[test]
fn schedulers_share_lossy_paths_among_interleaved_streams() {
    for (scheduler, shares) in [("rr", [1, 1]), ("fair", [1, 1]), ("wfq?weights=1:3", [1, 3])] {
        let messages = MessageSpec { bytes: 200_000, streams: 2, ..MessageSpec::default() };
        let app = AppSpec::Saturated { messages, refill: Refill::Contingent };
        let mut spec = world(&[lossy(10, 10, 0.005), lossy(5, 40, 0.01)], app, 0);
        let policies = PolicySpec { stream_scheduler: scheduler.into(), ..PolicySpec::default() };
        let config = AssocConfig {
            policies: polypath_policies::factory(&policies).unwrap(),
            extensions: ExtensionConfig { interleaving: true, ..ExtensionConfig::NONE },
            ..(*assoc(4 << 20)).clone()
        };
        spec.flows[0] = spec.flows[0].clone().with_assoc(Arc::new(config));
        spec.time = seconds(5, 60);
        let flow = run(&spec, 1).flows.remove(0);
        let ratio = flow.streams[1].goodput / flow.streams[0].goodput;
        let wanted = f64::from(shares[1]) / f64::from(shares[0]);
        assert!((ratio / wanted - 1.0).abs() < 0.15, "{scheduler}: {ratio}, not {wanted}");
    }
}
