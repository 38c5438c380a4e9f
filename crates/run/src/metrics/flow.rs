//! Metrics of flows and their paths, from the result of a run.

use polypath_sim::RunResult;
use polypath_sim::results::{Abandoned, DelaySummary, Delivered, FlowResult, Outcome, PathResult};

use super::metric::{Metric, Of, metric};
use super::number::{to_seconds, whole};
use super::unit::Unit::{self, Bytes, Plain, Rate, Share, Time};

pub(super) static METRICS: &[Metric] = &[
    delivered("goodput[.stream.{stream}]", Rate, "payload delivered per second", |d| {
        Some(d.goodput)
    }),
    delivered("messages[.stream.{stream}]", Plain, "messages delivered", |d| whole(d.messages)),
    delivered("bytes[.stream.{stream}]", Bytes, "payload delivered", |d| whole(d.bytes)),
    delivered(
        "delay[.stream.{stream}].mean",
        Time,
        "message delay, from acceptance by the sender to delivery: mean",
        |d| d.delay.map(|delay| delay.mean / 1e9),
    ),
    delivered("delay[.stream.{stream}].p50", Time, "its median", |d| delay(d, |d| d.p50)),
    delivered("delay[.stream.{stream}].p95", Time, "its 95th percentile", |d| delay(d, |d| d.p95)),
    delivered("delay[.stream.{stream}].p99", Time, "its 99th percentile", |d| delay(d, |d| d.p99)),
    delivered("delay[.stream.{stream}].max", Time, "its greatest value", |d| delay(d, |d| d.max)),
    flow("transfer-time", Time, "first DATA sent to last delivery, of a flow that finished", |f| {
        finish_time(f, f.times.from_first_data())
    }),
    flow(
        "transfer-time.arrival",
        Time,
        "first arrival of DATA to last delivery (ns-2's Tdata)",
        |f| finish_time(f, f.times.from_first_arrival()),
    ),
    flow("transfer-time.connect", Time, "opening of the association to last delivery", |f| {
        finish_time(f, f.times.from_connect())
    }),
    flow("file-throughput", Rate, "bits of the file over `transfer-time`", file_throughput),
    response("responses", Plain, "responses read (app = request)", |d| whole(d.messages)),
    response("response-time.mean", Time, "request accepted to its response read: mean", |d| {
        d.delay.map(|delay| delay.mean / 1e9)
    }),
    response("response-time.p50", Time, "its median", |d| delay(d, |d| d.p50)),
    response("response-time.p95", Time, "its 95th percentile", |d| delay(d, |d| d.p95)),
    response("response-time.max", Time, "its greatest value", |d| delay(d, |d| d.max)),
    flow("finished", Plain, "1 if the association ended gracefully, else 0", |f| {
        Some(f64::from(u8::from(f.outcome == Outcome::Finished)))
    }),
    flow("integrity", Plain, "1 if all messages arrived as they were sent, else 0", |f| {
        Some(f64::from(u8::from(f.integrity.holds())))
    }),
    count("packets-sent", "SCTP packets sent", |f| whole(f.counters.packets_sent)),
    count("retransmissions", "DATA chunks retransmitted", |f| {
        whole(f.counters.retransmissions_fast + f.counters.retransmissions_timeout)
    }),
    count("retransmissions.fast", "those after miss indications", |f| {
        whole(f.counters.retransmissions_fast)
    }),
    count("retransmissions.timeout", "those after a T3-rtx expiry", |f| {
        whole(f.counters.retransmissions_timeout)
    }),
    count("copies", "chunks sent on a second path while in flight", |f| whole(f.counters.copies)),
    count("path-silences", "times that a path fell silent while others did not", |f| {
        whole(f.counters.path_silences)
    }),
    count("timeouts", "T3-rtx expiries", |f| whole(f.counters.timeouts)),
    count("fast-recoveries", "fast recoveries", |f| whole(f.counters.fast_recoveries)),
    count("duplicate-chunks", "DATA chunks received more than once", |f| {
        whole(f.counters.duplicate_chunks)
    }),
    count("dropped-no-room", "DATA chunks that the receiver dropped for want of buffer", |f| {
        whole(f.counters.dropped_no_room)
    }),
    count("window-probes", "zero-window probes", |f| whole(f.counters.window_probes)),
    count("sacks-sent", "SACKs and NR-SACKs that the receiver sent", |f| {
        whole(f.counters.sacks_sent)
    }),
    count("timeouts.rto.1", "T3-rtx expiries with an RTO below 2 s", |f| flow_rto(f, 0)),
    count("timeouts.rto.1..", "with any RTO", |f| flow_rto_from(f, 0)),
    count("timeouts.rto.2", "with an RTO from 2 s, below 4 s", |f| flow_rto(f, 1)),
    count("timeouts.rto.2..", "from 2 s", |f| flow_rto_from(f, 1)),
    count("timeouts.rto.4", "from 4 s, below 8 s", |f| flow_rto(f, 2)),
    count("timeouts.rto.4..", "from 4 s", |f| flow_rto_from(f, 2)),
    count("timeouts.rto.8", "from 8 s, below 16 s", |f| flow_rto(f, 3)),
    count("timeouts.rto.8..", "from 8 s", |f| flow_rto_from(f, 3)),
    count("timeouts.rto.16", "from 16 s", |f| flow_rto(f, 4)),
    count("timeouts.rto.16..", "from 16 s", |f| flow_rto_from(f, 4)),
    given_up("abandoned", "messages given up (PR-SCTP)", |a| whole(a.messages)),
    given_up("abandoned.unsent", "those of which nothing was sent", |a| whole(a.unsent)),
    given_up("abandoned.lifetime", "those whose lifetime was over", |a| whole(a.lifetime)),
    given_up("abandoned.retransmissions", "those lost as often as was allowed", |a| {
        whole(a.retransmissions)
    }),
    given_up("abandoned.priority", "those whose room others needed", |a| whole(a.priority)),
    flow(
        "blocked-time",
        Time,
        "time in which data waited and a cwnd was open, but the peer's window closed",
        |f| Some(to_seconds(f.blocked_by_peer_window)),
    ),
    metric(
        "blocked-share",
        Share,
        "`blocked-time` as a share of the measuring time",
        Of::FlowInRun(blocked_share),
    ),
    count("blocked-count", "number of such times", |f| whole(f.blocked_count)),
    flow("blocked-longest", Time, "the longest of them", |f| Some(to_seconds(f.blocked_longest))),
    flow("receive-buffer.mean", Bytes, "bytes in the receive buffer: mean over time", |f| {
        Some(f.receive_buffer.mean)
    }),
    flow("receive-buffer.max", Bytes, "most of them", |f| whole(f.receive_buffer.max)),
    flow("out-of-order.mean", Bytes, "those beyond the cumulative TSN: mean over time", |f| {
        Some(f.out_of_order.mean)
    }),
    flow("out-of-order.max", Bytes, "most of them", |f| whole(f.out_of_order.max)),
    path(
        "payload-share.path.{path}",
        Share,
        "of the payload sent on all paths, retransmissions included",
        payload_share,
    ),
    path("payload-rate.path.{path}", Rate, "payload sent per second, likewise", |p, _| {
        Some(p.payload_rate)
    }),
    path("payload.path.{path}", Bytes, "payload sent, likewise", |p, _| whole(p.payload_bytes)),
    on_path("packets-sent.path.{path}", "SCTP packets sent", |p, _| whole(p.packets_sent)),
    on_path("data-chunks.path.{path}", "DATA chunks sent, retransmissions included", |p, _| {
        whole(p.data_chunks)
    }),
    on_path("retransmissions.path.{path}", "DATA chunks retransmitted on the path", |p, _| {
        whole(p.retransmissions_fast + p.retransmissions_timeout)
    }),
    on_path("retransmissions.fast.path.{path}", "those after miss indications", |p, _| {
        whole(p.retransmissions_fast)
    }),
    on_path("retransmissions.timeout.path.{path}", "those after a T3-rtx expiry", |p, _| {
        whole(p.retransmissions_timeout)
    }),
    on_path("timeouts.path.{path}", "T3-rtx expiries", |p, _| whole(p.timeouts)),
    on_path("fast-recoveries.path.{path}", "fast recoveries", |p, _| whole(p.fast_recoveries)),
    path("cwnd-end.path.{path}", Bytes, "congestion window at the end", |p, _| whole(p.cwnd)),
    path("ssthresh-end.path.{path}", Bytes, "slow start threshold at the end", |p, _| {
        whole(p.ssthresh)
    }),
    path("srtt.path.{path}", Time, "smoothed RTT at the end", |p, _| p.srtt.map(to_seconds)),
    on_path("timeouts.rto.1.path.{path}", "T3-rtx expiries with an RTO below 2 s", |p, _| {
        path_rto(p, 0)
    }),
    on_path("timeouts.rto.1...path.{path}", "with any RTO", |p, _| rto_from(p, 0)),
    on_path("timeouts.rto.2.path.{path}", "with an RTO from 2 s, below 4 s", |p, _| path_rto(p, 1)),
    on_path("timeouts.rto.2...path.{path}", "from 2 s", |p, _| rto_from(p, 1)),
    on_path("timeouts.rto.4.path.{path}", "from 4 s, below 8 s", |p, _| path_rto(p, 2)),
    on_path("timeouts.rto.4...path.{path}", "from 4 s", |p, _| rto_from(p, 2)),
    on_path("timeouts.rto.8.path.{path}", "from 8 s, below 16 s", |p, _| path_rto(p, 3)),
    on_path("timeouts.rto.8...path.{path}", "from 8 s", |p, _| rto_from(p, 3)),
    on_path("timeouts.rto.16.path.{path}", "from 16 s", |p, _| path_rto(p, 4)),
    on_path("timeouts.rto.16...path.{path}", "from 16 s", |p, _| rto_from(p, 4)),
];

const fn delivered(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&Delivered) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Delivered(of))
}

/// Of the answers to requests; no value where the flow asks nothing.
const fn response(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&Delivered) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Responses(of))
}

const fn flow(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&FlowResult) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Flow(of))
}

const fn count(
    name: &'static str,
    help: &'static str,
    of: fn(&FlowResult) -> Option<f64>,
) -> Metric {
    flow(name, Plain, help, of)
}

const fn given_up(
    name: &'static str,
    help: &'static str,
    of: fn(&Abandoned) -> Option<f64>,
) -> Metric {
    metric(name, Plain, help, Of::GivenUp(of))
}

const fn path(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&PathResult, &FlowResult) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Path(of))
}

const fn on_path(
    name: &'static str,
    help: &'static str,
    of: fn(&PathResult, &FlowResult) -> Option<f64>,
) -> Metric {
    path(name, Plain, help, of)
}

fn delay(delivered: &Delivered, of: fn(&DelaySummary) -> u64) -> Option<f64> {
    delivered.delay.map(|delay| to_seconds(of(&delay)))
}

fn finish_time(flow: &FlowResult, ns: Option<u64>) -> Option<f64> {
    ns.filter(|_| flow.outcome == Outcome::Finished).map(to_seconds)
}

fn file_throughput(flow: &FlowResult) -> Option<f64> {
    let data = finish_time(flow, flow.times.from_first_data()).filter(|data| *data > 0.0)?;
    Some(flow.total.bytes as f64 * 8.0 / data)
}

fn blocked_share(flow: &FlowResult, run: &RunResult) -> Option<f64> {
    Some(to_seconds(flow.blocked_by_peer_window) / to_seconds(run.measured))
}

fn payload_share(path: &PathResult, flow: &FlowResult) -> Option<f64> {
    let payload: u64 = flow.paths.iter().map(|path| path.payload_bytes).sum();
    (payload > 0).then(|| path.payload_bytes as f64 / payload as f64)
}

fn flow_rto(flow: &FlowResult, class: usize) -> Option<f64> {
    expiries_at(&flow.counters.timeouts_by_rto, class)
}

fn flow_rto_from(flow: &FlowResult, class: usize) -> Option<f64> {
    expiries_from(&flow.counters.timeouts_by_rto, class)
}

fn path_rto(path: &PathResult, class: usize) -> Option<f64> {
    expiries_at(&path.timeouts_by_rto, class)
}

fn rto_from(path: &PathResult, class: usize) -> Option<f64> {
    expiries_from(&path.timeouts_by_rto, class)
}

fn expiries_at(by_rto: &[u64; 5], class: usize) -> Option<f64> {
    whole(by_rto.get(class).copied().unwrap_or_default())
}

fn expiries_from(by_rto: &[u64; 5], class: usize) -> Option<f64> {
    whole(by_rto.iter().skip(class).sum())
}
