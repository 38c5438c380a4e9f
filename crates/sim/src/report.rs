//! From counters to results.

use polypath_link::Nanos;
use polypath_proto::Association;
use polypath_proto::stats::{AbandonedCount, AssocStats, PathStats};

use crate::end::End;
use crate::flow::Flow;
use crate::meter::{DeliveryMeter, rate};
use crate::network::Route;
use crate::results::{Abandoned, Counters, Delivered, FlowResult, Integrity, PathResult};

/// The result of `flow` at `now`, after `measured` ns of measuring time.
pub(crate) fn flow_result(
    flow: &Flow,
    routes: &[Route],
    now: Nanos,
    measured: Nanos,
) -> FlowResult {
    let stats = |end: &End| end.assoc().map(Association::stats).unwrap_or_default();
    let (client, server) = (stats(&flow.client), stats(&flow.server));
    let blocked = flow.blocked.until(now);
    FlowResult {
        name: flow.name.clone(),
        outcome: flow.outcome.clone(),
        times: flow.times,
        total: total_of_streams(flow.data.stream_meters(), measured),
        streams: flow.data.stream_meters().map(|meter| meter.summarize(measured)).collect(),
        paths: path_results(&client, &flow.client, routes, measured),
        counters: counters_since(&client, &server, flow),
        responses: flow
            .responses
            .as_ref()
            .map(|responses| responses.response_times().summarize(measured)),
        abandoned: flow.may_give_up().then(|| abandoned_since(&flow.client)),
        integrity: integrity(flow),
        blocked_by_peer_window: blocked.total,
        blocked_count: blocked.count,
        blocked_longest: blocked.longest,
        receive_buffer: flow.held.summarize(now),
        out_of_order: flow.out_of_order.summarize(now),
        samples: flow.samples.clone(),
        messages: flow.data.messages().to_vec(),
        file: flow.data.received_file(),
    }
}

/// What an end gave up since the end of settling.
fn abandoned_since(end: &End) -> Abandoned {
    let now = end.assoc().map(|assoc| assoc.abandoned(None)).unwrap_or_default();
    let before = end.abandoned;
    let both = |count: AbandonedCount| count.sent + count.unsent;
    Abandoned {
        messages: both(now.total()) - both(before.total()),
        unsent: now.total().unsent - before.total().unsent,
        lifetime: both(now.timed) - both(before.timed),
        retransmissions: both(now.limited) - both(before.limited),
        priority: both(now.priority) - both(before.priority),
    }
}

/// Requests and responses together.
fn integrity(flow: &Flow) -> Integrity {
    let (data, back) = (flow.data.integrity(), flow.responses.as_ref());
    let back = back.map(|responses| responses.checker().integrity()).unwrap_or_default();
    Integrity {
        duplicated: data.duplicated + back.duplicated,
        misordered: data.misordered + back.misordered,
        corrupted: data.corrupted + back.corrupted,
        outstanding: data.outstanding + back.outstanding,
    }
}

fn total_of_streams<'a>(
    meters: impl Iterator<Item = &'a DeliveryMeter>,
    measured: Nanos,
) -> Delivered {
    let mut total = DeliveryMeter::new();
    meters.for_each(|meter| total.add(meter));
    total.summarize(measured)
}

fn counters_since(client: &AssocStats, server: &AssocStats, flow: &Flow) -> Counters {
    let (client0, server0) = (&flow.client.settled, &flow.server.settled);
    let sent = |count: fn(&AssocStats) -> u64| count(client) - count(client0);
    let received = |count: fn(&AssocStats) -> u64| count(server) - count(server0);
    Counters {
        packets_sent: sent(|s| s.packets_sent),
        data_chunks_sent: sent(|s| s.data_chunks_sent),
        retransmissions_fast: sent(|s| s.retransmissions_fast),
        retransmissions_timeout: sent(|s| s.retransmissions_timeout),
        copies: sent(|s| s.copies),
        path_silences: sent(|s| s.paths.iter().map(|p| p.path_silences).sum()),
        duplicate_chunks: received(|s| s.duplicates_received),
        dropped_no_room: received(|s| s.dropped_no_room),
        timeouts: sent(|s| s.paths.iter().map(|p| p.timeouts).sum()),
        timeouts_by_rto: core::array::from_fn(|class| {
            let count = |s: &AssocStats| s.paths.iter().map(|p| p.timeouts_by_rto[class]).sum();
            let (now, before): (u64, u64) = (count(client), count(client0));
            now - before
        }),
        fast_recoveries: sent(|s| s.paths.iter().map(|p| p.fast_recoveries).sum()),
        sacks_sent: received(|s| s.sacks_sent),
        sacks_received: sent(|s| s.sacks_received),
        window_probes: sent(|s| s.window_probes),
        messages_accepted: sent(|s| s.messages_sent),
    }
}

fn path_results(now: &AssocStats, end: &End, routes: &[Route], measured: Nanos) -> Vec<PathResult> {
    let result = |path: &PathStats| {
        let before = end.settled.paths.iter().find(|before| before.path == path.path);
        let route = routes
            .iter()
            .find(|route| (route.from, route.to) == (path.local.ip(), path.remote.ip()));
        let name = route.map_or_else(
            || format!("{} to {}", path.local.ip(), path.remote.ip()),
            |route| route.name.clone(),
        );
        let result = path_result(name, path, before, measured);
        PathResult { mtu: found_mtu(end, path), ..result }
    };
    now.paths.iter().map(result).collect()
}

fn found_mtu(end: &End, path: &PathStats) -> Option<u32> {
    let found = end.assoc()?.path_mtu(path.path)?;
    (found.probes_sent > 0).then_some(found.mtu)
}

fn path_result(
    name: String,
    path: &PathStats,
    before: Option<&PathStats>,
    measured: Nanos,
) -> PathResult {
    let since = |count: fn(&PathStats) -> u64| count(path) - before.map_or(0, count);
    PathResult {
        name,
        packets_sent: since(|p| p.packets_sent),
        bytes_sent: since(|p| p.bytes_sent),
        data_chunks: since(|p| p.data_chunks),
        payload_bytes: since(|p| p.payload_bytes),
        payload_rate: rate(since(|p| p.payload_bytes), measured),
        retransmissions_fast: since(|p| p.retransmissions_fast),
        retransmissions_timeout: since(|p| p.retransmissions_timeout),
        timeouts: since(|p| p.timeouts),
        timeouts_by_rto: core::array::from_fn(|class| {
            path.timeouts_by_rto[class] - before.map_or(0, |before| before.timeouts_by_rto[class])
        }),
        fast_recoveries: since(|p| p.fast_recoveries),
        srtt: path.srtt.map(|srtt| srtt.as_nanos() as Nanos),
        rto: path.rto.as_nanos() as Nanos,
        cwnd: path.cwnd,
        ssthresh: path.ssthresh,
        mtu: None,
        state: format!("{:?}", path.state),
    }
}
