//! From the view of an association to what an interval policy sees.

use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, PathView};

use super::observation::{ASSOC_FIGURES, Observation, PATH_FIGURES};
use super::scale::{MOST, figure, flag, log_figure, ratio};

/// 2^10 milliseconds are a second and 2^10 packets a large window: their figures are about 1 there.
const OCTAVES: f64 = 10.0;
/// 2^20 kB are a GB.
const BYTES_OCTAVES: f64 = 20.0;

/// Counts what happens between two observations, and keeps the latest.
#[derive(Clone, Debug, Default)]
pub(super) struct Observer {
    latest: Observation,
    /// When the present interval began.
    since: Option<Time>,
    /// Payload bytes of new data sent since.
    sent: u64,
    paths: Vec<Measured>,
    send_rate: f32,
    elapsed: f32,
}

/// What was measured of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// The path's counters when the present interval began.
    delivered: u64,
    lost: u64,
    /// Figures of the interval before.
    delivery_rate: f32,
    loss_rate: f32,
}

impl Observer {
    /// `bytes` of new data went out.
    pub(super) fn on_sent(&mut self, bytes: u32) {
        self.sent = self.sent.saturating_add(bytes.into());
    }

    /// The figures of now. An interval ends, and the next begins; unless no time has passed: then
    /// what was measured in the interval before is told again.
    pub(super) fn observe(&mut self, view: &AssocView<'_>) -> &Observation {
        self.end_interval(view);
        let paths = view.paths.iter().zip(&self.paths);
        self.latest.paths.clear();
        self.latest.paths.extend(paths.map(|(path, measured)| path_figures(view, path, measured)));
        self.latest.assoc = self.assoc_figures(view);
        &self.latest
    }

    /// Measures the interval that ends now. The first observation ends none.
    fn end_interval(&mut self, view: &AssocView<'_>) {
        let known = self.paths.len();
        self.paths.extend(view.paths.iter().skip(known).map(Measured::new));
        let elapsed = view.now.since(*self.since.get_or_insert(view.now));
        if elapsed.is_zero() {
            return;
        }
        for (path, measured) in view.paths.iter().zip(&mut self.paths) {
            measured.end_interval(path, elapsed);
        }
        self.send_rate = rate_figure(core::mem::take(&mut self.sent), elapsed);
        self.elapsed = millis_figure(elapsed);
        self.since = Some(view.now);
    }

    fn assoc_figures(&self, view: &AssocView<'_>) -> [f32; ASSOC_FIGURES.len()] {
        let buffer = &view.send_buffer;
        let limit = if buffer.limit == u64::MAX { 0 } else { buffer.limit };
        [
            figure(view.usable().count() as f64 / 10.0, MOST),
            ratio(view.peer_rwnd as f64, view.peer_rwnd_max as f64, 1.0),
            ratio(buffer.used as f64, limit as f64, 1.0),
            log_figure(buffer.unsent as f64 / 1e3, BYTES_OCTAVES),
            self.send_rate,
            self.elapsed,
        ]
    }
}

impl Measured {
    const fn new(path: &PathView) -> Self {
        let PathView { delivered, lost, .. } = *path;
        Self { delivered, lost, delivery_rate: 0.0, loss_rate: 0.0 }
    }

    fn end_interval(&mut self, path: &PathView, elapsed: Duration) {
        let delivered = path.delivered.saturating_sub(self.delivered);
        let lost = path.lost.saturating_sub(self.lost);
        self.delivery_rate = rate_figure(delivered, elapsed);
        self.loss_rate = ratio(lost as f64, lost as f64 + delivered as f64, 1.0);
        (self.delivered, self.lost) = (path.delivered, path.lost);
    }
}

fn path_figures(
    view: &AssocView<'_>,
    path: &PathView,
    measured: &Measured,
) -> [f32; PATH_FIGURES.len()] {
    let seconds = |rtt: Option<Duration>| rtt.map_or(0.0, |rtt| rtt.as_secs_f64());
    let (srtt, min_rtt) = (seconds(path.srtt), seconds(path.min_rtt));
    [
        flag(path.usable),
        flag(path.sendable),
        millis_figure(path.srtt.unwrap_or(view.rto_initial)),
        millis_figure(path.min_rtt.unwrap_or_default()),
        ratio((srtt - min_rtt).max(0.0), min_rtt, MOST),
        ratio(path.rttvar.as_secs_f64(), srtt, MOST),
        log_figure(path.cwnd as f64 / f64::from(path.pmdcs.max(1)), OCTAVES),
        ratio(path.outstanding as f64, path.cwnd as f64, MOST),
        measured.delivery_rate,
        measured.loss_rate,
        flag(path.in_recovery),
        ratio(path.queued as f64, view.send_buffer.used as f64, 1.0),
    ]
}

fn millis_figure(time: Duration) -> f32 {
    log_figure(time.as_secs_f64() * 1e3, OCTAVES)
}

fn rate_figure(bytes: u64, time: Duration) -> f32 {
    log_figure(bytes as f64 / 1e3 / time.as_secs_f64(), BYTES_OCTAVES)
}
