//! From what processes say of themselves to metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::message::{AssociationStatus, PathStatus, REMOVED, Status};

/// What [`encode`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4, as files for its node exporter are.
    Plain,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The content type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Those of a process, an association or a path: all its series have them.
type Labels = Arc<Vec<(&'static str, String)>>;

/// What one series has beside them.
type OwnLabels = Vec<(&'static str, String)>;

/// A metric with all its series.
#[derive(Debug)]
struct Metric {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    series: Vec<(Labels, OwnLabels, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}

/// Metrics by their names, in the order in which they were first seen.
#[derive(Debug, Default)]
struct Metrics {
    all: Vec<Metric>,
    places: BTreeMap<&'static str, usize>,
}

impl Metrics {
    /// A metric with a series for each of two values of a label.
    fn add_both(
        &mut self,
        metric: (Kind, &'static str, &'static str),
        labels: &Labels,
        key: &'static str,
        both: [(&str, f64); 2],
    ) {
        both.iter().for_each(|(word, value)| self.add(metric, labels, &[(key, word)], *value));
    }

    fn add(
        &mut self,
        (kind, name, help): (Kind, &'static str, &'static str),
        labels: &Labels,
        more: &[(&'static str, &str)],
        value: f64,
    ) {
        let Self { all, places } = self;
        let place = *places.entry(name).or_insert(all.len());
        if place == all.len() {
            all.push(Metric { name, help, kind, series: Vec::new() });
        }
        let own = more.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        if let Some(metric) = all.get_mut(place) {
            metric.series.push((labels.clone(), own, value));
        }
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for metric in &self.all {
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            let mut metric_encoder =
                encoder.encode_descriptor(metric.name, metric.help, None, kind)?;
            for (labels, own, value) in &metric.series {
                let labels = (labels.as_slice(), own.as_slice());
                let encoder = metric_encoder.encode_family(&labels)?;
                match metric.kind {
                    Kind::Counter => ConstCounter::new(*value).encode(encoder)?,
                    Kind::Gauge => ConstGauge::new(*value).encode(encoder)?,
                }
            }
        }
        Ok(())
    }
}

/// Metrics of `processes`, of whom `unreachable` more did not answer. Of each, the first
/// `most_associations` are told one by one; of the others only how many there are, for a sum over
/// them would fall whenever one ends.
///
/// # Errors
/// None that is known: strings take what is written to them.
pub fn encode(
    processes: &[Status],
    unreachable: usize,
    most_associations: usize,
    format: Format,
) -> Result<String, fmt::Error> {
    let mut metrics = Metrics::default();
    let silent = (
        Kind::Gauge,
        "polypath_processes_unreachable",
        "Control sockets whose processes did not answer",
    );
    metrics.add(silent, &Labels::default(), &[], unreachable as f64);
    for status in processes {
        add_process(&mut metrics, status, most_associations);
    }
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(match format {
        Format::OpenMetrics => out,
        Format::Plain => plain(&out),
    })
}

/// OpenMetrics to the older format: there a counter's own lines have the suffix of its samples.
fn plain(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len() + 1024);
    let mut help: Option<(&str, &str)> = None;
    for line in open_metrics.lines() {
        if line == "# EOF" {
            continue;
        }
        if let Some((name, text)) = line.strip_prefix("# HELP ").and_then(|l| l.split_once(' ')) {
            help = Some((name, text));
            continue;
        }
        let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|l| l.split_once(' '))
        else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let suffix = if kind == "counter" { "_total" } else { "" };
        if let Some((_, text)) = help.take().filter(|(of, _)| *of == name) {
            out.push_str(&format!("# HELP {name}{suffix} {text}\n"));
        }
        out.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
    }
    out
}

fn add_process(metrics: &mut Metrics, status: &Status, most_associations: usize) {
    let pid = status.process.pid.to_string();
    let process = Labels::new(vec![("process", pid)]);
    let with = |of: &Labels, key, value| {
        let mut labels = of.to_vec();
        labels.push((key, value));
        Labels::new(labels)
    };
    let info = (Kind::Gauge, "polypath_process_info", "A process with a control socket");
    let about = [("command", &*status.process.command), ("version", &*status.process.version)];
    metrics.add(info, &process, &about, 1.0);
    let associations =
        (Kind::Gauge, "polypath_associations", "SCTP associations that are not over");
    let count = status.associations.len().saturating_add(status.more);
    metrics.add(associations, &process, &[], count as f64);
    let told = status.associations.len().min(most_associations);
    let told = status.associations.get(..told).unwrap_or_default();
    let others = count - told.len();
    for association in told {
        let labels = with(&process, "association", association.association.to_string());
        add_totals(metrics, &labels, association);
        add_limits(metrics, &labels, association);
        add_buffers(metrics, &labels, association);
        let is_there = |path: &&PathStatus| path.state != REMOVED;
        for path in association.paths.iter().flatten().filter(is_there) {
            let labels = with(&labels, "path", path.path.to_string());
            let labels = with(&labels, "name", short_name(path));
            add_path_counters(metrics, &labels, path);
            add_path_state(metrics, &labels, path);
        }
    }
    let untold = (
        Kind::Gauge,
        "polypath_associations_untold",
        "Associations beyond those that are told one by one",
    );
    metrics.add(untold, &process, &[], others as f64);
}

/// The device or the address here: unlike a path's full name it stays as it is while other paths
/// come and go.
fn short_name(path: &PathStatus) -> String {
    path.device.clone().unwrap_or_else(|| path.local.ip().to_string())
}

fn add_totals(metrics: &mut Metrics, labels: &Labels, of: &AssociationStatus) {
    let totals = &of.totals;
    let bytes = (
        Kind::Counter,
        "polypath_association_bytes",
        "Payload bytes, sent for the first time or delivered",
    );
    let both = [("sent", totals.sent_bytes as f64), ("delivered", totals.delivered_bytes as f64)];
    metrics.add_both(bytes, labels, "direction", both);
    let messages = (
        Kind::Counter,
        "polypath_association_messages",
        "Messages handed in by the program, or delivered to it",
    );
    let both =
        [("sent", totals.sent_messages as f64), ("delivered", totals.delivered_messages as f64)];
    metrics.add_both(messages, labels, "direction", both);
    let counters = [
        (
            "polypath_association_retransmitted_chunks",
            "DATA chunks retransmitted",
            totals.retransmissions,
        ),
        (
            "polypath_association_copied_chunks",
            "DATA chunks sent once more on another path while in flight",
            totals.copies,
        ),
        (
            "polypath_association_duplicate_chunks",
            "DATA chunks that came more than once",
            totals.duplicates,
        ),
    ];
    for (name, help, value) in counters {
        metrics.add((Kind::Counter, name, help), labels, &[], value as f64);
    }
}

fn add_limits(metrics: &mut Metrics, labels: &Labels, of: &AssociationStatus) {
    let limited = (
        Kind::Counter,
        "polypath_association_limited_seconds",
        "For how long what has limited the association",
    );
    for share in of.limits.iter().flatten() {
        let path = share.path.as_deref().unwrap_or_default();
        metrics.add(limited, labels, &[("by", &share.limit), ("name", path)], share.seconds);
    }
}

fn add_buffers(metrics: &mut Metrics, labels: &Labels, of: &AssociationStatus) {
    let buffers = &of.buffers;
    let used = (Kind::Gauge, "polypath_association_buffer_used_bytes", "Payload in buffers");
    let size =
        (Kind::Gauge, "polypath_association_buffer_size_bytes", "Sizes of buffers at present");
    let both = [("send", buffers.send_used as f64), ("receive", f64::from(buffers.receive_used))];
    metrics.add_both(used, labels, "buffer", both);
    if let Some(bytes) = buffers.send_size {
        metrics.add(size, labels, &[("buffer", "send")], bytes as f64);
    }
    metrics.add(size, labels, &[("buffer", "receive")], f64::from(buffers.receive_size));
    let waiting = (
        Kind::Gauge,
        "polypath_association_out_of_order_bytes",
        "Payload in the receive buffer that waits for what is missing",
    );
    metrics.add(waiting, labels, &[], f64::from(buffers.receive_out_of_order));
}

fn add_path_counters(metrics: &mut Metrics, labels: &Labels, path: &PathStatus) {
    let bytes =
        (Kind::Counter, "polypath_path_bytes", "Payload bytes on a path, retransmissions included");
    let both = [("sent", path.sent_bytes as f64), ("received", path.received_bytes as f64)];
    metrics.add_both(bytes, labels, "direction", both);
    let packets = (Kind::Counter, "polypath_path_packets", "SCTP packets on a path");
    let both = [("sent", path.sent_packets as f64), ("received", path.received_packets as f64)];
    metrics.add_both(packets, labels, "direction", both);
    let counters = [
        (
            "polypath_path_sent_chunks",
            "DATA chunks sent, retransmissions included",
            path.sent_chunks,
        ),
        ("polypath_path_timeouts", "Expiries of T3-rtx", path.timeouts),
    ];
    for (name, help, value) in counters {
        metrics.add((Kind::Counter, name, help), labels, &[], value as f64);
    }
}

fn add_path_state(metrics: &mut Metrics, labels: &Labels, path: &PathStatus) {
    let info = (Kind::Gauge, "polypath_path_info", "The addresses of a path");
    let (local, remote) = (path.local.to_string(), path.remote.to_string());
    metrics.add(info, labels, &[("local", &local), ("remote", &remote)], 1.0);
    let up = (Kind::Gauge, "polypath_path_up", "Whether a path is reachable and not silent");
    metrics.add(up, labels, &[], if path.trouble { 0.0 } else { 1.0 });
    let state = (Kind::Gauge, "polypath_path_state", "The state of a path, as a label");
    metrics.add(state, labels, &[("state", &path.state)], 1.0);
    let usage = (Kind::Gauge, "polypath_path_use", "What a path may be used for, as a label");
    metrics.add(usage, labels, &[("use", path.admin.word())], 1.0);
    let gauges = [
        // Not a counter: what was declared lost may turn out to have arrived (RFC 5682).
        (
            "polypath_path_lost_chunks",
            "DATA chunks declared lost, less those that turned out not to be",
            Some(path.lost_chunks as f64),
        ),
        ("polypath_path_rtt_seconds", "Smoothed round-trip time", path.rtt),
        ("polypath_path_min_rtt_seconds", "Smallest round-trip time", path.min_rtt),
        ("polypath_path_rto_seconds", "Retransmission timeout", Some(path.rto)),
        ("polypath_path_cwnd_bytes", "Congestion window", Some(path.cwnd as f64)),
        (
            "polypath_path_in_flight_bytes",
            "DATA chunk bytes in flight",
            Some(path.in_flight as f64),
        ),
        ("polypath_path_mtu_bytes", "Path MTU in use", Some(f64::from(path.mtu))),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            metrics.add((Kind::Gauge, name, help), labels, &[], value);
        }
    }
}
