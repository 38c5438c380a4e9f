//! Metrics from time series.

use polypath_sim::results::{PathSample, Sample};

use super::metric::{Metric, Of, metric};
use super::time_series::TimeSeries;
use super::unit::Unit::{self, Bytes, Plain, Share};

/// Less room than this in the send buffer takes no message of the usual size.
const MESSAGE: u64 = 1452;

pub(super) static METRICS: &[Metric] = &[
    path("cwnd.path.{path}.mean", Bytes, "congestion window", |s, n| s.path_mean(n, cwnd)),
    path("cwnd.path.{path}.max", Bytes, "its greatest value", |s, n| s.path_max(n, cwnd)),
    path("ssthresh.path.{path}.mean", Bytes, "slow start threshold", |s, n| {
        s.path_mean(n, |path| path.ssthresh)
    }),
    path("outstanding.path.{path}.mean", Bytes, "bytes of DATA chunks in flight", |s, n| {
        s.path_mean(n, outstanding)
    }),
    path("outstanding.path.{path}.max", Bytes, "most of them", |s, n| s.path_max(n, outstanding)),
    path(
        "outstanding-share.path.{path}",
        Share,
        "of the bytes in flight on all paths",
        outstanding_share,
    ),
    flow("send-buffer.mean", Bytes, "bytes in the send buffer", send_buffer),
    stream("send-buffer.stream.{stream}.mean", Bytes, "those of the stream", stream_buffer),
    stream("send-buffer-share.stream.{stream}", Share, "of all those bytes", stream_buffer_share),
    flow(
        "send-blocked-share",
        Share,
        "share of the samples in which the send buffer has no room for a message while the cwnd \
         of some path is open",
        send_blocked_share,
    ),
    flow(
        "delivered-unacked.mean",
        Bytes,
        "bytes in the send buffer that are neither unsent, nor in flight, nor held by the \
         receiver: delivered and not yet released",
        |s| s.mean(delivered_unacked),
    ),
    metric(
        "growth-ratio.smaller-ssthresh",
        Plain,
        "with two paths: cwnd growth on the one with the smaller ssthresh over that on the other, \
         over pairs of samples in which neither cwnd falls and both ssthresh stay",
        Of::SeriesOfTwo(growth_ratio),
    ),
    flow("peer-rwnd.mean", Bytes, "the peer's window less what is in flight", |s| {
        s.mean(|sample| sample.peer_rwnd)
    }),
    flow("peer-rwnd.min", Bytes, "its least value", |s| {
        s.min(|sample| sample.peer_rwnd).map(|least| least as f64)
    }),
];

const fn flow(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&TimeSeries<'_>) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Series(of))
}

const fn path(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&TimeSeries<'_>, usize) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::SeriesOfPath(of))
}

const fn stream(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&TimeSeries<'_>, usize) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::SeriesOfStream(of))
}

fn cwnd(path: &PathSample) -> u64 {
    path.cwnd
}

fn outstanding(path: &PathSample) -> u64 {
    path.outstanding
}

fn outstanding_on_all(sample: &Sample) -> u64 {
    sample.paths.iter().map(outstanding).sum()
}

fn outstanding_share(series: &TimeSeries<'_>, path: usize) -> Option<f64> {
    let total = series.mean(outstanding_on_all).filter(|total| *total > 0.0);
    let own = series.path_mean(path, outstanding);
    own.zip(total).map(|(own, total)| own / total)
}

fn send_buffer(series: &TimeSeries<'_>) -> Option<f64> {
    series.mean(|sample| sample.send_buffer)
}

fn stream_buffer(series: &TimeSeries<'_>, stream: usize) -> Option<f64> {
    series.mean(|sample| sample.send_buffer_streams.get(stream).copied().unwrap_or(0))
}

fn stream_buffer_share(series: &TimeSeries<'_>, stream: usize) -> Option<f64> {
    let used = send_buffer(series).filter(|used| *used > 0.0);
    stream_buffer(series, stream).zip(used).map(|(own, used)| own / used)
}

fn send_blocked_share(series: &TimeSeries<'_>) -> Option<f64> {
    let most = series.max(|sample| sample.send_buffer).unwrap_or(0);
    series.mean(|sample| {
        let open = sample.paths.iter().any(|path| path.outstanding < path.cwnd);
        u64::from(open && sample.send_buffer + MESSAGE > most)
    })
}

fn delivered_unacked(sample: &Sample) -> u64 {
    let elsewhere = sample.send_buffer_unsent + outstanding_on_all(sample) + sample.receive_buffer;
    sample.send_buffer.saturating_sub(elsewhere)
}

fn growth_ratio(series: &TimeSeries<'_>) -> Option<f64> {
    let (mut small, mut large) = (0, 0);
    for (before, after) in series.sample_pairs() {
        let ([a0, b0], [a1, b1]) = (before.paths.as_slice(), after.paths.as_slice()) else {
            continue;
        };
        let steady = a0.ssthresh == a1.ssthresh && b0.ssthresh == b1.ssthresh;
        let (grown_a, grown_b) = (a1.cwnd.checked_sub(a0.cwnd), b1.cwnd.checked_sub(b0.cwnd));
        let (Some(grown_a), Some(grown_b), true) = (grown_a, grown_b, steady) else { continue };
        match a0.ssthresh.cmp(&b0.ssthresh) {
            core::cmp::Ordering::Less => (small, large) = (small + grown_a, large + grown_b),
            core::cmp::Ordering::Greater => (small, large) = (small + grown_b, large + grown_a),
            core::cmp::Ordering::Equal => {}
        }
    }
    (large > 0).then(|| small as f64 / large as f64)
}
