//! Waits for T3 timers, times without room at the peer, and pauses on a path: how they coincide.

use std::collections::BTreeMap;

use polypath_link::Nanos;
use polypath_proto::trace::{Stop, TraceEvent, TraceRecord};
use polypath_proto::view::LossKind;

use super::super::number::to_seconds;
use super::spans::{Span, intersect_spans, merge_spans, total_length};

/// From this RTO on, in ns, a timer was backed off (RTO.Min is 1 s in the papers).
const BACKED_OFF: Nanos = 2_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// T3 waits per path.
    waits: BTreeMap<usize, Vec<Span>>,
    /// All of them, by whether the timer was backed off.
    single: Vec<Span>,
    repeated: Vec<Span>,
    /// Spells without room at the peer.
    blocked: Vec<Span>,
    blocked_since: Option<Nanos>,
    /// When each path sent new data.
    new_data: BTreeMap<usize, Vec<Nanos>>,
    losses: BTreeMap<usize, Vec<Nanos>>,
    peer_rwnd: Vec<(Nanos, u64)>,
    first: Option<Nanos>,
    last: Nanos,
}

impl Recovery {
    pub(super) fn note_record(&mut self, record: &TraceRecord) {
        let at = record.at.as_nanos();
        match &record.event {
            TraceEvent::Sent { path, retransmission: None, .. } => {
                self.new_data.entry(usize::from(path.0)).or_default().push(at);
                self.first.get_or_insert(at);
                self.last = at;
                self.end_blocking(at);
            }
            TraceEvent::Lost { path, kind, rto, .. } => {
                let path = usize::from(path.0);
                self.losses.entry(path).or_default().push(at);
                if *kind == LossKind::Timeout {
                    let wait = (at.saturating_sub(*rto), at);
                    self.waits.entry(path).or_default().push(wait);
                    let class =
                        if *rto >= BACKED_OFF { &mut self.repeated } else { &mut self.single };
                    class.push(wait);
                }
            }
            TraceEvent::Round { stop: Stop::PeerWindow, .. } => {
                self.blocked_since.get_or_insert(at);
            }
            TraceEvent::Round { .. } => self.end_blocking(at),
            TraceEvent::Sack { peer_rwnd, .. } => self.peer_rwnd.push((at, *peer_rwnd)),
            _ => {}
        }
    }

    fn end_blocking(&mut self, at: Nanos) {
        if let Some(since) = self.blocked_since.take().filter(|since| *since < at) {
            self.blocked.push((since, at));
        }
    }

    /// What it all comes to.
    pub(super) fn summary(&self) -> RecoverySummary {
        let all = merge_spans(self.waits.values().flatten().copied().collect());
        let blocked = merge_spans(self.blocked.clone());
        let (single, repeated) =
            (merge_spans(self.single.clone()), merge_spans(self.repeated.clone()));
        let paths = self.waits.keys().chain(self.new_data.keys()).max().map_or(0, |last| last + 1);
        RecoverySummary {
            time: length_s(&all),
            blocked_inside: blocked_share(&blocked, &all),
            blocked_inside_single: blocked_share(&blocked, &single),
            blocked_inside_repeated: blocked_share(&blocked, &repeated),
            blocked_outside: self.blocked_outside(&blocked, &all),
            spell_single: mean_spell(&blocked, &single),
            spell_repeated: mean_spell(&blocked, &repeated),
            paths: (0..paths).map(|path| self.path_summary(path)).collect(),
        }
    }

    /// The share of the transfer's time outside of recovery that was blocked.
    fn blocked_outside(&self, blocked: &[Span], waits: &[Span]) -> Option<f64> {
        let transfer = [(self.first.unwrap_or(self.last), self.last)];
        let inside = total_length(&intersect_spans(waits, &transfer)) as f64;
        let outside = total_length(&transfer) as f64 - inside;
        let blocked_inside = total_length(&intersect_spans(blocked, waits)) as f64;
        let rest = total_length(blocked) as f64 - blocked_inside;
        (outside > 0.0).then(|| rest / outside)
    }

    fn path_summary(&self, path: usize) -> PathRecovery {
        let own = self.waits.get(&path).map(Vec::as_slice).unwrap_or_default();
        PathRecovery {
            time: length_s(&merge_spans(own.to_vec())),
            longest: to_seconds(own.iter().map(|(from, to)| to - from).max().unwrap_or(0)),
            pause: self.longest_pause(path).map(|pause| self.pause_summary(path, pause)),
        }
    }

    /// The longest time between two transmissions of new data on a path, while there was new data
    /// elsewhere or later.
    fn longest_pause(&self, path: usize) -> Option<Span> {
        let times = self.new_data.get(&path).map(Vec::as_slice).unwrap_or_default();
        let ends = times.iter().skip(1).copied().chain([self.last]);
        let pauses = times.iter().copied().zip(ends).filter(|(from, to)| from < to);
        pauses.max_by_key(|(from, to)| to - from)
    }

    fn pause_summary(&self, path: usize, pause: Span) -> Pause {
        let length_ns = (pause.1 - pause.0) as f64;
        let within = |at: Nanos| pause.0 < at && at < pause.1;
        let others = self.waits.iter().filter(|(other, _)| **other != path);
        let others = merge_spans(others.flat_map(|(_, waits)| waits.iter().copied()).collect());
        let losses = self.losses.get(&path).map(Vec::as_slice).unwrap_or_default();
        let windows = self.peer_rwnd.iter().filter(|(at, _)| within(*at));
        Pause {
            length: length_ns / 1e9,
            recovery_elsewhere: total_length(&intersect_spans(&[pause], &others)) as f64
                / length_ns,
            own_losses: losses.iter().filter(|at| within(**at)).count(),
            least_peer_rwnd: windows.map(|(_, rwnd)| *rwnd).min(),
        }
    }
}

/// Recovery and blocking over a whole run. Times in s.
#[derive(Debug)]
pub(in crate::metrics) struct RecoverySummary {
    /// Time waited for T3 timers that expired, on any path.
    pub(in crate::metrics) time: f64,
    /// The share of this time that was blocked, ...
    pub(in crate::metrics) blocked_inside: Option<f64>,
    /// ... of that with timers that were not backed off, ...
    pub(in crate::metrics) blocked_inside_single: Option<f64>,
    /// ... of that with timers that were.
    pub(in crate::metrics) blocked_inside_repeated: Option<f64>,
    /// The share of the other time that was blocked.
    pub(in crate::metrics) blocked_outside: Option<f64>,
    /// Mean length of blocked spells that touch a wait for a timer that was not backed off.
    pub(in crate::metrics) spell_single: Option<f64>,
    /// Likewise for one that was.
    pub(in crate::metrics) spell_repeated: Option<f64>,
    paths: Vec<PathRecovery>,
}

impl RecoverySummary {
    pub(in crate::metrics) fn path(&self, path: usize) -> Option<&PathRecovery> {
        self.paths.get(path)
    }

    /// The longest pause of a path.
    pub(in crate::metrics) fn pause(&self, path: usize) -> Option<&Pause> {
        self.path(path)?.pause.as_ref()
    }
}

/// Recovery on one path. Times in s.
#[derive(Debug)]
pub(in crate::metrics) struct PathRecovery {
    /// Time waited for T3 timers that expired.
    pub(in crate::metrics) time: f64,
    /// The longest such wait.
    pub(in crate::metrics) longest: f64,
    pause: Option<Pause>,
}

/// The longest time without new data on a path.
#[derive(Debug)]
pub(in crate::metrics) struct Pause {
    /// s.
    pub(in crate::metrics) length: f64,
    /// The share of it that another path waited for a T3 timer.
    pub(in crate::metrics) recovery_elsewhere: f64,
    /// Losses declared on the path.
    pub(in crate::metrics) own_losses: usize,
    /// The smallest window of the peer, bytes.
    pub(in crate::metrics) least_peer_rwnd: Option<u64>,
}

fn length_s(spans: &[Span]) -> f64 {
    to_seconds(total_length(spans))
}

fn blocked_share(blocked: &[Span], within: &[Span]) -> Option<f64> {
    let time = total_length(within) as f64;
    (time > 0.0).then(|| total_length(&intersect_spans(blocked, within)) as f64 / time)
}

/// Mean length in s of the blocked spells that touch one of `waits`.
fn mean_spell(blocked: &[Span], waits: &[Span]) -> Option<f64> {
    let touching = blocked.iter().filter(|spell| !intersect_spans(&[**spell], waits).is_empty());
    let lengths: Vec<Nanos> = touching.map(|(from, to)| to - from).collect();
    let count = lengths.len() as f64;
    (count > 0.0).then(|| lengths.iter().sum::<Nanos>() as f64 / count / 1e9)
}
