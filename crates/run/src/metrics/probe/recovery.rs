//! Waits for T3 timers, times without room at the peer, and pauses on a path: how they coincide.

use std::collections::BTreeMap;

use polypath_link::Nanos;
use polypath_proto::trace::{Stop, TraceEvent, TraceRecord};
use polypath_proto::view::LossKind;

use super::super::{Figures, S};
use super::spans::{Span, common, length, union};

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
    pub(super) fn record(&mut self, record: &TraceRecord) {
        let at = record.at.as_nanos();
        match &record.event {
            TraceEvent::Sent { path, retransmission: None, .. } => {
                self.new_data.entry(usize::from(path.0)).or_default().push(at);
                self.first.get_or_insert(at);
                self.last = at;
                self.unblock(at);
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
            TraceEvent::Round { .. } => self.unblock(at),
            TraceEvent::Sack { peer_rwnd, .. } => self.peer_rwnd.push((at, *peer_rwnd)),
            _ => {}
        }
    }

    fn unblock(&mut self, at: Nanos) {
        if let Some(since) = self.blocked_since.take().filter(|since| *since < at) {
            self.blocked.push((since, at));
        }
    }

    pub(super) fn figures(&self, out: &mut Figures, paths: &[&str]) {
        let seconds = |spans: &[Span]| length(spans) as f64 / S;
        let all = union(self.waits.values().flatten().copied().collect());
        out.put("recovery-time", seconds(&all));
        for (n, name) in paths.iter().enumerate() {
            let waits = union(self.waits.get(&n).cloned().unwrap_or_default());
            let own = self.waits.get(&n).map(Vec::as_slice).unwrap_or_default();
            let longest = own.iter().map(|(from, to)| to - from).max().unwrap_or(0);
            out.put(format!("recovery-time.path.{name}"), seconds(&waits));
            out.put(format!("recovery-longest.path.{name}"), longest as f64 / S);
            self.pause(out, n, name);
        }
        self.blocking(out, &all);
    }

    fn blocking(&self, out: &mut Figures, waits: &[Span]) {
        let blocked = union(self.blocked.clone());
        let share = |within: &[Span]| {
            let time = length(within) as f64;
            (time > 0.0).then(|| length(&common(&blocked, within)) as f64 / time)
        };
        let (single, repeated) = (union(self.single.clone()), union(self.repeated.clone()));
        out.put("blocked-in-recovery", share(waits));
        out.put("blocked-in-recovery.single", share(&single));
        out.put("blocked-in-recovery.repeated", share(&repeated));
        let transfer = [(self.first.unwrap_or(self.last), self.last)];
        let inside = length(&common(waits, &transfer)) as f64;
        let outside = length(&transfer) as f64 - inside;
        let blocked_inside = length(&common(&blocked, waits)) as f64;
        let rest = length(&blocked) as f64 - blocked_inside;
        out.put("blocked-outside-recovery", (outside > 0.0).then(|| rest / outside));
        for (name, waits) in [("single", &single), ("repeated", &repeated)] {
            let touching = blocked.iter().filter(|spell| !common(&[**spell], waits).is_empty());
            let lengths: Vec<Nanos> = touching.map(|(from, to)| to - from).collect();
            let count = lengths.len() as f64;
            let mean = (count > 0.0).then(|| lengths.iter().sum::<Nanos>() as f64 / count / S);
            out.put(format!("blocked-spell.{name}"), mean);
        }
    }

    /// The longest time between two transmissions of new data on a path, while there was new data elsewhere or later.
    fn pause(&self, out: &mut Figures, path: usize, name: &str) {
        let times = self.new_data.get(&path).map(Vec::as_slice).unwrap_or_default();
        let ends = times.iter().skip(1).copied().chain([self.last]);
        let pauses = times.iter().copied().zip(ends).filter(|(from, to)| from < to);
        let longest = pauses.max_by_key(|(from, to)| to - from);
        let value = |of: &dyn Fn(Span) -> f64| longest.map(of);
        let within = |at: Nanos, (from, to): Span| from < at && at < to;
        let others = self.waits.iter().filter(|(other, _)| **other != path);
        let others = union(others.flat_map(|(_, waits)| waits.iter().copied()).collect());
        out.put(format!("pause.path.{name}.longest"), value(&|p| (p.1 - p.0) as f64 / S));
        let elsewhere = |p: Span| length(&common(&[p], &others)) as f64 / (p.1 - p.0) as f64;
        out.put(format!("pause.path.{name}.recovery-elsewhere"), value(&elsewhere));
        let losses = self.losses.get(&path).map(Vec::as_slice).unwrap_or_default();
        let lost = |p: Span| losses.iter().filter(|at| within(**at, p)).count() as f64;
        out.put(format!("pause.path.{name}.own-losses"), value(&lost));
        let least = longest.and_then(|p| {
            let inside = self.peer_rwnd.iter().filter(|(at, _)| within(*at, p));
            inside.map(|(_, rwnd)| *rwnd).min()
        });
        out.put(format!("pause.path.{name}.rwnd"), least.map(|least| least as f64));
    }
}
