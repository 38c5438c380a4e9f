//! What a path scheduler's decisions cost: packets go round through a model of paths that is as
//! small as can be.

use std::collections::VecDeque;
use std::hint::black_box;

use anyhow::Result;
use polypath_policies::PolicySpec;
use polypath_proto::PathId;
use polypath_proto::config::CcConfig;
use polypath_proto::ids::StreamId;
use polypath_proto::policy::{AckedInfo, PathPick, PathScheduler, Trigger};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta, PathState, PathView};

use crate::cpu;

/// Schedulers in the order of the table; `primary` decides nothing and shows what the model itself
/// costs.
pub(crate) const SCHEDULERS: [&str; 10] =
    ["primary", "rr", "cmt-out", "min-rtt", "blest", "ecf", "otias", "daps", "sttf", "knapsack"];

/// A chunk that fills a packet of 1500 bytes.
const CHUNK: u32 = 1468;
const PACKET_TIME: Duration = Duration::from_micros(1200);

/// CPU nanoseconds per packet sent: its acknowledgement, the round and all picks in it.
pub(crate) fn cost_per_packet(scheduler: &str, paths: u8, packets: u64) -> Result<f64> {
    let policies = PolicySpec { path_scheduler: scheduler.to_owned(), ..PolicySpec::default() };
    let factory = polypath_policies::factory(&policies)?;
    let mut policies = factory.build(&CcConfig::default(), &mut Rng::from_u64(1));
    let mut model = Model::new(paths);
    // Long enough for its estimates to settle.
    model.carry_packets(&mut *policies.path_scheduler, 20_000);
    let (sent, cpu) =
        cpu::measure_cpu(|| model.carry_packets(&mut *policies.path_scheduler, packets))?;
    Ok(cpu.as_nanos() as f64 / black_box(sent) as f64)
}

/// Paths of 10 Mbit/s, 10 ms one way the first one and 65 ms more each of the others; a buffer of
/// 256 KiB.
struct Model {
    now: Time,
    paths: Vec<PathView>,
    /// When the acknowledgements of each path's packets arrive, and the time that they took.
    flights: Vec<VecDeque<(Time, Duration)>>,
}

impl Model {
    fn new(paths: u8) -> Self {
        let path = |i: u8| {
            let mut path = PathView::new(PathId(i), 1500, CHUNK, Duration::from_secs(1));
            path.state = PathState::Active;
            path.usable = true;
            (path.cwnd, path.ssthresh) = (1 << 17, 1 << 17);
            path.group = path.id;
            path.srtt = Some(base_rtt(i));
            path.min_rtt = path.srtt;
            path
        };
        Self {
            now: Time::from_secs(1),
            paths: (0..paths).map(path).collect(),
            flights: vec![VecDeque::new(); usize::from(paths)],
        }
    }

    /// Sends `packets`; gives how many were sent.
    fn carry_packets(&mut self, scheduler: &mut dyn PathScheduler, packets: u64) -> u64 {
        let mut sent = 0;
        while sent < packets {
            self.acknowledge_next(scheduler);
            scheduler.begin_attempt(&self.assoc_view(), Trigger::Sack);
            while let Some(path) = self.pick_path(scheduler) {
                self.send_packet(scheduler, path);
                sent += 1;
            }
            scheduler.end_attempt(&self.assoc_view());
        }
        sent
    }

    fn assoc_view(&self) -> AssocView<'_> {
        let mut view = AssocView::new(self.now, &self.paths);
        view.peer_rwnd_max = 1 << 18;
        view.outstanding = self.paths.iter().map(|p| p.outstanding).sum();
        view.peer_rwnd = view.peer_rwnd_max.saturating_sub(view.outstanding);
        view.send_buffer.limit = 1 << 18;
        view
    }

    /// The earliest acknowledgement on its way arrives.
    fn acknowledge_next(&mut self, scheduler: &mut dyn PathScheduler) {
        let first =
            |(i, flight): (usize, &VecDeque<(Time, Duration)>)| Some((flight.front()?.0, i));
        let Some((at, i)) = self.flights.iter().enumerate().filter_map(first).min() else { return };
        let Some((_, rtt)) = self.flights[i].pop_front() else { return };
        self.now = self.now.max(at);
        let path = &mut self.paths[i];
        let (outstanding_before, bytes) = (path.outstanding, u64::from(CHUNK));
        path.outstanding -= bytes;
        path.outstanding_payload = path.outstanding;
        (path.srtt, path.last_rtt) = (Some(rtt), Some(rtt));
        let (path, outstanding) = (path.id, path.outstanding);
        let rtt = Some(rtt);
        let ev = AckedInfo {
            path,
            bytes,
            outstanding_before,
            outstanding,
            may_grow: true,
            rtt,
            sack_path: path,
        };
        scheduler.on_acked(&self.assoc_view(), &ev);
    }

    fn pick_path(&mut self, scheduler: &mut dyn PathScheduler) -> Option<PathId> {
        for path in &mut self.paths {
            path.sendable = path.outstanding + u64::from(CHUNK) <= path.cwnd;
        }
        let view = self.assoc_view();
        if view.peer_rwnd < u64::from(CHUNK) {
            return None;
        }
        match scheduler.pick_path(&view, &ChunkMeta::whole(StreamId(0), CHUNK - 16)) {
            PathPick::Use(path) if view.path(path)?.sendable => Some(path),
            _ => None,
        }
    }

    fn send_packet(&mut self, scheduler: &mut dyn PathScheduler, id: PathId) {
        let flight = &mut self.flights[id.index()];
        let earliest = self.now + base_rtt(id.0);
        let at = flight.back().map_or(earliest, |&(last, _)| earliest.max(last + PACKET_TIME));
        flight.push_back((at, at.since(self.now)));
        let path = &mut self.paths[id.index()];
        path.outstanding += u64::from(CHUNK);
        path.outstanding_payload = path.outstanding;
        path.data_packets += 1;
        path.data_chunks += 1;
        let chunk = ChunkMeta::whole(StreamId(0), CHUNK - 16);
        scheduler.on_sent(&self.assoc_view(), id, &chunk, true);
    }
}

/// The round trip of path `i` without a queue; SACKs take the fastest path.
fn base_rtt(i: u8) -> Duration {
    Duration::from_micros(21_200) + Duration::from_millis(65) * u32::from(i)
}
