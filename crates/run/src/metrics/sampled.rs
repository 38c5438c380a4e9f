//! Figures from the time series: means over the samples of the measuring time.

use polypath_sim::RunResult;
use polypath_sim::results::{FlowResult, Sample};

use super::Figures;

/// Less room than this in the send buffer takes no message of the usual size.
const MESSAGE: u64 = 1452;

pub(super) fn figures(out: &mut Figures, p: &str, result: &RunResult, flow: &FlowResult) {
    if flow.samples.is_empty() {
        return;
    }
    let from = result.end.saturating_sub(result.measured);
    let samples: Vec<&Sample> = flow.samples.iter().filter(|sample| sample.at >= from).collect();
    paths(out, p, flow, &samples);
    send_buffer(out, p, flow, &samples);
    if flow.paths.len() == 2 {
        out.put(format!("{p}growth-ratio.smaller-ssthresh"), growth_ratio(&samples));
    }
    let least = samples.iter().map(|sample| sample.peer_rwnd).min();
    out.put(format!("{p}peer-rwnd.mean"), mean(&samples, |sample| sample.peer_rwnd));
    out.put(format!("{p}peer-rwnd.min"), least.map(|least| least as f64));
}

fn paths(out: &mut Figures, p: &str, flow: &FlowResult, samples: &[&Sample]) {
    let outstanding =
        |sample: &Sample, n: usize| sample.paths.get(n).map_or(0, |path| path.outstanding);
    let all = |sample: &Sample| sample.paths.iter().map(|path| path.outstanding).sum::<u64>();
    let total = mean(samples, all).filter(|total| *total > 0.0);
    for (n, path) in flow.paths.iter().enumerate() {
        let name = &path.name;
        let cwnd = |sample: &Sample| sample.paths.get(n).map_or(0, |path| path.cwnd);
        let ssthresh = |sample: &Sample| sample.paths.get(n).map_or(0, |path| path.ssthresh);
        let own = mean(samples, |sample| outstanding(sample, n));
        let max = |of: &dyn Fn(&Sample) -> u64| {
            samples.iter().map(|sample| of(sample)).max().map(|max| max as f64)
        };
        out.put(format!("{p}cwnd.path.{name}.mean"), mean(samples, cwnd));
        out.put(format!("{p}cwnd.path.{name}.max"), max(&cwnd));
        out.put(format!("{p}ssthresh.path.{name}.mean"), mean(samples, ssthresh));
        out.put(format!("{p}outstanding.path.{name}.mean"), own);
        out.put(format!("{p}outstanding.path.{name}.max"), max(&|sample| outstanding(sample, n)));
        let share = own.zip(total).map(|(own, total)| own / total);
        out.put(format!("{p}outstanding-share.path.{name}"), share);
    }
}

fn send_buffer(out: &mut Figures, p: &str, flow: &FlowResult, samples: &[&Sample]) {
    let used = mean(samples, |sample| sample.send_buffer);
    out.put(format!("{p}send-buffer.mean"), used);
    for n in 0..flow.streams.len() {
        let own = |sample: &Sample| sample.send_buffer_streams.get(n).copied().unwrap_or(0);
        let own = mean(samples, own);
        out.put(format!("{p}send-buffer.stream.{n}.mean"), own);
        let share = own.zip(used.filter(|used| *used > 0.0)).map(|(own, used)| own / used);
        out.put(format!("{p}send-buffer-share.stream.{n}"), share);
    }
    let most = samples.iter().map(|sample| sample.send_buffer).max().unwrap_or(0);
    let blocked = |sample: &Sample| {
        let open = sample.paths.iter().any(|path| path.outstanding < path.cwnd);
        u64::from(open && sample.send_buffer + MESSAGE > most)
    };
    out.put(format!("{p}send-blocked-share"), mean(samples, blocked));
    let unacked = |sample: &Sample| {
        let outstanding: u64 = sample.paths.iter().map(|path| path.outstanding).sum();
        let elsewhere = sample.send_buffer_unsent + outstanding + sample.receive_buffer;
        sample.send_buffer.saturating_sub(elsewhere)
    };
    out.put(format!("{p}delivered-unacked.mean"), mean(samples, unacked));
}

/// Growth of the window with the smaller ssthresh over growth of the other, while neither falls and both ssthresh stay.
fn growth_ratio(samples: &[&Sample]) -> Option<f64> {
    let (mut small, mut large) = (0, 0);
    for pair in samples.windows(2) {
        let [before, after] = pair else { continue };
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

fn mean(samples: &[&Sample], of: impl Fn(&Sample) -> u64) -> Option<f64> {
    let sum: f64 = samples.iter().map(|sample| of(sample) as f64).sum();
    (!samples.is_empty()).then(|| sum / samples.len() as f64)
}
