//! What one end counts while load flows.

use std::collections::BTreeMap;

use polypath_net::{Association, LimitStats, MtuState, PathId, PathInfo, PathStats};

use super::cpu;
use super::delay::Delays;
use super::report::{Cpu, EndReport, Flow, Interval, LimitShare, PathInterval, StreamCount};
use super::spec::{STREAMS_TOLD, TestSpec};
use crate::paths;

/// Counts messages, and cuts what it counted into intervals.
#[derive(Debug)]
pub(crate) struct Meter {
    start_ns: u64,
    omit_ns: u64,
    /// This end sends load.
    sends: bool,
    /// Load counted after the last cut is late.
    over: bool,
    /// Messages since the beginning, counted or not.
    received_ever: u64,
    sent_ever: u64,
    current: Bin,
    total: Bin,
    late: Flow,
    report: EndReport,
    before: Snapshot,
    limits_before: LimitStats,
    interval_start_ns: u64,
    /// Noticed since the last cut.
    stalls: Vec<String>,
}

/// Counts of an interval, or of all.
#[derive(Debug)]
struct Bin {
    streams: Vec<StreamBin>,
    sent: Flow,
    received: Flow,
    delays: Delays,
}

#[derive(Clone, Debug, Default)]
struct StreamBin {
    sent: Flow,
    received: Flow,
    delays: Delays,
}

/// The association's own counters at a time.
#[derive(Debug, Default)]
struct Snapshot {
    transmitted: u64,
    paths: BTreeMap<PathId, PathInfo>,
    cpu: Cpu,
}

impl Snapshot {
    fn from_association(association: &Association) -> Self {
        let stats = association.stats();
        let paths = association.paths().into_iter().map(|info| (info.stats.path, info));
        let transmitted = stats.data_bytes_sent;
        Self { transmitted, paths: paths.collect(), cpu: cpu::read_cpu() }
    }
}

impl Bin {
    fn new(streams: usize) -> Self {
        Self {
            streams: vec![StreamBin::default(); streams],
            sent: Flow::default(),
            received: Flow::default(),
            delays: Delays::default(),
        }
    }

    fn stream_bin(&mut self, stream: u16) -> Option<&mut StreamBin> {
        self.streams.get_mut(usize::from(stream).checked_sub(1)?)
    }

    fn clear(&mut self) {
        self.streams.iter_mut().for_each(|stream| *stream = StreamBin::default());
        (self.sent, self.received) = (Flow::default(), Flow::default());
        self.delays.clear();
    }

    fn stream_counts(&self) -> Vec<StreamCount> {
        let numbered = (1..).zip(&self.streams);
        let told = numbered.map(|(stream, bin)| StreamCount {
            stream,
            sent: bin.sent,
            received: bin.received,
            delay: bin.delays.summary(),
        });
        told.collect()
    }
}

impl Meter {
    /// Counts from `start_ns` on.
    pub(crate) fn new(
        spec: &TestSpec,
        client: bool,
        start_ns: u64,
        association: &Association,
    ) -> Self {
        let told = usize::from(spec.streams.min(STREAMS_TOLD));
        Self {
            start_ns,
            omit_ns: spec.omit_ms * 1_000_000,
            sends: spec.sends_load(client) || spec.is_request_response(),
            over: false,
            received_ever: 0,
            sent_ever: 0,
            current: Bin::new(told),
            total: Bin::new(told),
            late: Flow::default(),
            report: EndReport::default(),
            before: Snapshot::from_association(association),
            limits_before: association.limits(),
            interval_start_ns: start_ns,
            stalls: Vec::new(),
        }
    }

    /// The beginning is now: what the association did before does not count.
    pub(crate) fn begin_counting(&mut self, association: &Association) {
        self.before = Snapshot::from_association(association);
        self.limits_before = association.limits();
    }

    fn is_omitting(&self) -> bool {
        self.interval_start_ns < self.start_ns.saturating_add(self.omit_ns)
    }

    /// Messages were handed to the association.
    pub(crate) fn count_sent(&mut self, stream: u16, flow: Flow) {
        self.sent_ever += flow.messages;
        if self.over {
            return;
        }
        let omitted = self.is_omitting();
        for bin in [Some(&mut self.current), (!omitted).then_some(&mut self.total)] {
            let Some(bin) = bin else { continue };
            bin.sent.add(&flow);
            if let Some(stream) = bin.stream_bin(stream) {
                stream.sent.add(&flow);
            }
        }
    }

    /// A message was delivered, after `delay` nanoseconds if that is known.
    pub(crate) fn count_received(&mut self, stream: u16, bytes: u64, delay: Option<u64>) {
        self.received_ever += 1;
        let flow = Flow { messages: 1, bytes };
        if self.over {
            return self.late.add(&flow);
        }
        let omitted = self.is_omitting();
        for bin in [Some(&mut self.current), (!omitted).then_some(&mut self.total)] {
            let Some(bin) = bin else { continue };
            bin.received.add(&flow);
            if let Some(delay) = delay {
                bin.delays.record_delay(delay);
            }
        }
        if let Some(bin) = self.current.stream_bin(stream) {
            bin.received.add(&flow);
        }
        let total = self.total.stream_bin(stream).filter(|_| !omitted);
        if let Some(bin) = total {
            bin.received.add(&flow);
            if let Some(delay) = delay {
                bin.delays.record_delay(delay);
            }
        }
    }

    /// Data makes no progress, says this line.
    pub(crate) fn note_stall(&mut self, line: String) {
        self.stalls.push(line);
    }

    /// Messages received so far, whenever.
    pub(crate) const fn received_ever(&self) -> u64 {
        self.received_ever
    }

    /// Messages handed to the association so far, whenever.
    pub(crate) const fn sent_ever(&self) -> u64 {
        self.sent_ever
    }

    /// Ends an interval now.
    pub(crate) fn end_interval(&mut self, now_ns: u64, association: &Association) -> Interval {
        let after = Snapshot::from_association(association);
        let since = |ns: u64| ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let omitted = self.is_omitting();
        let interval = Interval {
            start: since(self.interval_start_ns),
            end: since(now_ns),
            omitted,
            sent: self.current.sent,
            transmitted_bytes: after.transmitted.saturating_sub(self.before.transmitted),
            received: self.current.received,
            delay: self.current.delays.summary(),
            cpu: after.cpu.since(&self.before.cpu),
            paths: self.before.paths_until(&after, self.sends),
            streams: if self.current.streams.len() > 1 {
                self.current.stream_counts()
            } else {
                Vec::new()
            },
            stalls: core::mem::take(&mut self.stalls),
        };
        let limits = association.limits();
        if omitted {
            self.limits_before = limits;
        } else {
            self.report.add_interval(&interval);
            self.report.limits =
                LimitShare::between(&self.limits_before, &limits, &association.paths());
        }
        self.current.clear();
        self.before = after;
        self.interval_start_ns = now_ns;
        self.report.intervals.push(interval.clone());
        interval
    }

    /// Whether the load's time is over.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    /// The load's time is over: what still comes in is late.
    pub(crate) const fn end_load(&mut self) {
        self.over = true;
    }

    /// What was counted.
    pub(crate) fn report(&self) -> EndReport {
        EndReport {
            sent: self.total.sent,
            received: self.total.received,
            late: self.late,
            delay: self.total.delays.summary(),
            streams: self.total.stream_counts(),
            ..self.report.clone()
        }
    }
}

impl EndReport {
    fn add_interval(&mut self, interval: &Interval) {
        self.seconds += interval.seconds();
        self.transmitted_bytes += interval.transmitted_bytes;
        self.cpu.add(&interval.cpu);
        for path in &interval.paths {
            match self.paths.iter_mut().find(|known| known.path == path.path) {
                Some(known) => known.add_next(path),
                None => self.paths.push(path.clone()),
            }
        }
    }

    /// Gives the receiver's bytes to the paths, in proportion to what they carried.
    pub(crate) fn share_goodput(&mut self, received: &Self) {
        share_bytes(&mut self.paths, received.received.bytes);
        let other = received.intervals.iter().filter(|i| !i.omitted);
        for (mine, theirs) in self.intervals.iter_mut().filter(|i| !i.omitted).zip(other) {
            share_bytes(&mut mine.paths, theirs.received.bytes);
        }
    }
}

fn share_bytes(paths: &mut [PathInterval], bytes: u64) {
    let carried: u64 = paths.iter().map(|p| p.payload_bytes).sum();
    for path in paths {
        let part = path.payload_bytes as f64 / carried.max(1) as f64;
        path.goodput_bytes = (part * bytes as f64).round() as u64;
    }
}

impl Snapshot {
    fn paths_until(&self, after: &Self, sends: bool) -> Vec<PathInterval> {
        let all: Vec<_> = after.paths.values().cloned().collect();
        let change = |(id, info): (&PathId, &PathInfo)| {
            let (now, before) = (&info.stats, self.paths.get(id).map(|info| &info.stats));
            let since =
                |count: fn(&PathStats) -> u64| count(now).saturating_sub(before.map_or(0, count));
            PathInterval {
                path: id.0,
                local: now.local,
                remote: now.remote,
                payload_bytes: since(|s| s.payload_bytes),
                goodput_bytes: 0,
                retransmissions: since(|s| s.retransmissions_fast + s.retransmissions_timeout),
                copies: since(|s| s.copies),
                timeouts: since(|s| s.timeouts),
                srtt_ms: now.srtt.map(|srtt| srtt.as_secs_f64() * 1e3),
                cwnd: now.cwnd,
                outstanding: now.outstanding,
                state: now.state.into(),
                found_mtu: (info.mtu.state != MtuState::Disabled).then_some(info.mtu.mtu),
                device: info.device.clone(),
                note: paths::explain_path(info, &all, sends),
            }
        };
        after.paths.iter().map(change).collect()
    }
}

impl PathInterval {
    /// Takes in what followed.
    fn add_next(&mut self, next: &Self) {
        let mut sum = next.clone();
        sum.payload_bytes += self.payload_bytes;
        sum.goodput_bytes += self.goodput_bytes;
        sum.retransmissions += self.retransmissions;
        sum.copies += self.copies;
        sum.timeouts += self.timeouts;
        *self = sum;
    }
}
