//! A result in which nothing happened, to learn which figures a scenario has.

use polypath_scenario::{FlowSpec, Scenario};
use polypath_sim::RunResult;
use polypath_sim::results::{
    Abandoned, Counters, Delivered, FlowResult, Integrity, LinkResult, Occupancy, Outcome,
    PathResult, Sample, TransferTimes,
};

pub(super) fn result(scenario: &Scenario) -> RunResult {
    let links = scenario.path.keys().chain(scenario.link.keys());
    let directed = |name: &String| ["forward", "reverse"].map(|way| link(format!("{name}.{way}")));
    RunResult {
        seed: 0,
        end: 0,
        measured: 0,
        flows: (0..scenario.flow.len())
            .zip(&scenario.flow)
            .map(|(n, spec)| flow(scenario, scenario.flow_name(n), spec))
            .collect(),
        links: links.flat_map(directed).collect(),
        cross: Vec::new(),
        packets: 0,
        nats: Vec::new(),
        unroutable: 0,
        events: 0,
    }
}

fn flow(scenario: &Scenario, name: String, spec: &FlowSpec) -> FlowResult {
    let all = || scenario.path_names().map(str::to_owned).collect();
    let paths: Vec<String> = spec.paths.clone().unwrap_or_else(all);
    FlowResult {
        name,
        outcome: Outcome::NotEstablished,
        times: TransferTimes::default(),
        total: Delivered::default(),
        streams: vec![Delivered::default(); usize::from(spec.stream_count())],
        paths: paths.into_iter().map(path).collect(),
        counters: Counters::default(),
        responses: None,
        abandoned: spec.may_give_up().then(Abandoned::default),
        integrity: Integrity::default(),
        blocked_by_peer_window: 0,
        blocked_count: 0,
        blocked_longest: 0,
        receive_buffer: Occupancy::default(),
        out_of_order: Occupancy::default(),
        samples: scenario.time.sample.map(|_| sample()).into_iter().collect(),
        file: None,
    }
}

fn sample() -> Sample {
    Sample {
        at: 0,
        peer_rwnd: 0,
        send_buffer: 0,
        send_buffer_unsent: 0,
        send_buffer_streams: Vec::new(),
        receive_buffer: 0,
        out_of_order: 0,
        delivered: 0,
        paths: Vec::new(),
    }
}

fn path(name: String) -> PathResult {
    PathResult {
        name,
        packets_sent: 0,
        bytes_sent: 0,
        data_chunks: 0,
        payload_bytes: 0,
        payload_rate: 0.0,
        retransmissions_fast: 0,
        retransmissions_timeout: 0,
        timeouts: 0,
        timeouts_by_rto: [0; 5],
        fast_recoveries: 0,
        srtt: None,
        rto: 0,
        cwnd: 0,
        ssthresh: 0,
        mtu: None,
        state: String::new(),
    }
}

fn link(name: String) -> LinkResult {
    LinkResult {
        name,
        offered: 0,
        offered_bytes: 0,
        delivered: 0,
        delivered_bytes: 0,
        lost: 0,
        overflowed: 0,
        lost_down: 0,
        too_large: 0,
        max_queue_packets: 0,
        busy: 0,
    }
}
