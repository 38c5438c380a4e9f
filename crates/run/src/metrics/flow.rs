//! Figures of flows and links.

use polypath_sim::RunResult;
use polypath_sim::results::{Delivered, FlowResult, LinkResult, Occupancy, Outcome, PathResult};

use super::{Figures, S, sampled};

/// Least RTO in s of each class of expiries.
const CLASSES: [&str; 5] = ["1", "2", "4", "8", "16"];

pub(super) fn figures(out: &mut Figures, prefix: &str, result: &RunResult, flow: &FlowResult) {
    let p = prefix;
    delivered(out, p, "", &flow.total);
    for (n, stream) in flow.streams.iter().enumerate() {
        delivered(out, p, &format!(".stream.{n}"), stream);
    }
    times(out, p, flow);
    counters(out, p, flow);
    blocking(out, p, result, flow);
    occupancy(out, p, "receive-buffer", flow.receive_buffer);
    occupancy(out, p, "out-of-order", flow.out_of_order);
    let payload: u64 = flow.paths.iter().map(|path| path.payload_bytes).sum();
    for path in &flow.paths {
        one_path(out, p, path, payload);
    }
    sampled::figures(out, p, result, flow);
}

fn delivered(out: &mut Figures, p: &str, which: &str, what: &Delivered) {
    out.put(format!("{p}goodput{which}"), what.goodput);
    out.put(format!("{p}messages{which}"), what.messages as f64);
    out.put(format!("{p}bytes{which}"), what.bytes as f64);
    let delay = what.delay;
    out.put(format!("{p}delay{which}.mean"), delay.map(|d| d.mean / S));
    out.put(format!("{p}delay{which}.p50"), delay.map(|d| d.p50 as f64 / S));
    out.put(format!("{p}delay{which}.p95"), delay.map(|d| d.p95 as f64 / S));
    out.put(format!("{p}delay{which}.p99"), delay.map(|d| d.p99 as f64 / S));
    out.put(format!("{p}delay{which}.max"), delay.map(|d| d.max as f64 / S));
}

fn times(out: &mut Figures, p: &str, flow: &FlowResult) {
    let finished = flow.outcome == Outcome::Finished;
    let seconds = |ns: Option<u64>| ns.filter(|_| finished).map(|ns| ns as f64 / S);
    let data = seconds(flow.times.from_first_data());
    out.put(format!("{p}transfer-time"), data);
    out.put(format!("{p}transfer-time.arrival"), seconds(flow.times.from_first_arrival()));
    out.put(format!("{p}transfer-time.connect"), seconds(flow.times.from_connect()));
    let rate = data.filter(|data| *data > 0.0).map(|data| flow.total.bytes as f64 * 8.0 / data);
    out.put(format!("{p}file-throughput"), rate);
    out.put(format!("{p}finished"), f64::from(u8::from(finished)));
    out.put(format!("{p}integrity"), f64::from(u8::from(flow.integrity.holds())));
}

fn counters(out: &mut Figures, p: &str, flow: &FlowResult) {
    let c = &flow.counters;
    let both = c.retransmissions_fast + c.retransmissions_timeout;
    for (name, count) in [
        ("packets-sent", c.packets_sent),
        ("retransmissions", both),
        ("retransmissions.fast", c.retransmissions_fast),
        ("retransmissions.timeout", c.retransmissions_timeout),
        ("copies", c.copies),
        ("suspicions", c.suspicions),
        ("timeouts", c.timeouts),
        ("fast-recoveries", c.fast_recoveries),
        ("spurious", c.spurious),
        ("dropped-no-room", c.dropped_no_room),
        ("window-probes", c.window_probes),
        ("sacks-sent", c.sacks_sent),
    ] {
        out.put(format!("{p}{name}"), count as f64);
    }
    by_rto(out, p, "", &c.timeouts_by_rto);
    let Some(given_up) = flow.abandoned else { return };
    for (name, count) in [
        ("abandoned", given_up.messages),
        ("abandoned.unsent", given_up.unsent),
        ("abandoned.lifetime", given_up.lifetime),
        ("abandoned.retransmissions", given_up.retransmissions),
        ("abandoned.priority", given_up.priority),
    ] {
        out.put(format!("{p}{name}"), count as f64);
    }
}

fn by_rto(out: &mut Figures, p: &str, path: &str, classes: &[u64; 5]) {
    for (n, name) in CLASSES.iter().enumerate() {
        let here = classes.get(n).copied().unwrap_or_default();
        let on: u64 = classes.iter().skip(n).sum();
        out.put(format!("{p}timeouts.rto.{name}{path}"), here as f64);
        out.put(format!("{p}timeouts.rto.{name}..{path}"), on as f64);
    }
}

fn blocking(out: &mut Figures, p: &str, result: &RunResult, flow: &FlowResult) {
    let blocked = flow.blocked_by_peer_window as f64 / S;
    let share = blocked / (result.measured as f64 / S);
    out.put(format!("{p}blocked-time"), blocked);
    out.put(format!("{p}blocked-share"), share);
    out.put(format!("{p}blocked-count"), flow.blocked_count as f64);
    out.put(format!("{p}blocked-longest"), flow.blocked_longest as f64 / S);
}

fn occupancy(out: &mut Figures, p: &str, name: &str, what: Occupancy) {
    out.put(format!("{p}{name}.mean"), what.mean);
    out.put(format!("{p}{name}.max"), what.max as f64);
}

fn one_path(out: &mut Figures, p: &str, path: &PathResult, payload: u64) {
    let name = &path.name;
    let both = path.retransmissions_fast + path.retransmissions_timeout;
    let share = (payload > 0).then(|| path.payload_bytes as f64 / payload as f64);
    out.put(format!("{p}payload-share.path.{name}"), share);
    for (what, value) in [
        ("payload-rate", path.payload_rate),
        ("payload", path.payload_bytes as f64),
        ("packets-sent", path.packets_sent as f64),
        ("data-chunks", path.data_chunks as f64),
        ("retransmissions", both as f64),
        ("retransmissions.fast", path.retransmissions_fast as f64),
        ("retransmissions.timeout", path.retransmissions_timeout as f64),
        ("timeouts", path.timeouts as f64),
        ("fast-recoveries", path.fast_recoveries as f64),
        ("cwnd-end", path.cwnd as f64),
        ("ssthresh-end", path.ssthresh as f64),
    ] {
        out.put(format!("{p}{what}.path.{name}"), value);
    }
    out.put(format!("{p}srtt.path.{name}"), path.srtt.map(|srtt| srtt as f64 / S));
    by_rto(out, p, &format!(".path.{name}"), &path.timeouts_by_rto);
}

pub(super) fn link(out: &mut Figures, result: &RunResult, link: &LinkResult) {
    let seconds = result.measured as f64 / S;
    let name = &link.name;
    out.put(format!("link.{name}.rate"), link.delivered_bytes as f64 * 8.0 / seconds);
    out.put(format!("link.{name}.overflowed"), link.overflowed as f64);
    out.put(format!("link.{name}.lost"), link.lost as f64);
    out.put(format!("link.{name}.max-queue"), link.max_queue_packets as f64);
    out.put(format!("link.{name}.utilisation"), link.busy as f64 / S / seconds);
}
