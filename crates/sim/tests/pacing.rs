//! Pacing: bursts that a shallow queue cannot hold.

use crate::common;
use std::sync::Arc;

use crate::common::{MS, link, run, seconds, world};
use polypath_link::{LinkConfig, Queue};
use polypath_policies::{PolicySpec, factory};
use polypath_proto::config::{AssocConfig, RecoveryConfig};
use polypath_sim::results::RunResult;
use polypath_sim::spec::{AppSpec, MessageSpec, Period, Refill, WorldSpec};

const BUFFER: u32 = 4 << 20;

fn stack(congestion: &str, pacing: bool) -> Arc<AssocConfig> {
    let spec = PolicySpec { congestion: congestion.to_owned(), ..PolicySpec::default() };
    let policies = factory(&spec).expect("a congestion control with valid options");
    let recovery = RecoveryConfig::MODERN;
    Arc::new(AssocConfig { policies, pacing, recovery, ..(*common::assoc(BUFFER)).clone() })
}

/// 50 Mbit/s, 40 ms, and room for `queue` packets.
fn shallow(app: AppSpec, queue: u32, congestion: &str, pacing: bool) -> RunResult {
    let link = LinkConfig { queue: Queue::DropTailPackets(queue), ..link(50, 20) };
    let mut spec: WorldSpec = world(&[link], app, BUFFER);
    spec.flows[0] = spec.flows[0].clone().with_assoc(stack(congestion, pacing));
    spec.time = seconds(0, 20);
    run(&spec, 1)
}

/// Goodput in Mbit/s and retransmissions.
fn summary(result: &RunResult) -> (f64, u64) {
    let flow = &result.flows[0];
    let again = flow.counters.retransmissions_fast + flow.counters.retransmissions_timeout;
    (flow.total.goodput / 1e6, again)
}

#[test]
fn a_source_that_pauses_does_not_flood_a_shallow_queue() {
    let messages = MessageSpec { unordered: true, ..MessageSpec::default() };
    let (on, off) = (Period::Fixed(300 * MS), Period::Fixed(100 * MS));
    for queue in [10, 20] {
        for cc in ["rfc9260", "cubic"] {
            let app = AppSpec::OnOff { messages, rate: None, on, off };
            let [free, paced] =
                [false, true].map(|on| summary(&shallow(app.clone(), queue, cc, on)));
            println!(
                "on and off, queue {queue}, {cc}: (Mbit/s, again) {free:.2?}, paced {paced:.2?}"
            );
            assert!(paced.0 > free.0, "{cc}: {free:?}, {paced:?}");
        }
    }
}

#[test]
fn a_saturated_sender_loses_nothing_by_pacing() {
    let messages = MessageSpec { unordered: true, ..MessageSpec::default() };
    for queue in [10, 20, 100] {
        for cc in ["rfc9260", "cubic"] {
            let app = AppSpec::Saturated { messages, refill: Refill::RoundRobin };
            let [free, paced] =
                [false, true].map(|on| summary(&shallow(app.clone(), queue, cc, on)));
            println!(
                "saturated, queue {queue}, {cc}: (Mbit/s, again) {free:.2?}, paced {paced:.2?}"
            );
            assert!(paced.0 > 0.97 * free.0, "{cc}: {free:?}, {paced:?}");
        }
    }
}
