//! `cmt-out-split`: split the buffer, and rank by outstanding data: what S4's conclusion asks for.
//!
//! CMT-OUT ranks paths by outstanding data and lets any of them fill the buffer; buffer splitting
//! gives each path the same part, needed or not. Both lose at small buffers: where the fastest path
//! could use all of the buffer, every byte that a path of k times its RTT holds costs k bytes of
//! throughput. So the parts must not be equal, and a slow path's may be nothing.
//!
//! **Parts.** A path needs what it carries without a queue, and a few packets. Of O bytes
//! outstanding, a path whose smoothed RTT r is above m, the smallest that its data saw, has O m / r
//! on the wire and O (1 - m / r) in a queue, as in Vegas (Brakmo and Peterson 1995). While it
//! queues more than `queue` packets, it needs O m / r and these packets. Else its cwnd is what it
//! can use now; and if that has room, it may be growing: it needs two. In the order of m, each path
//! is granted what it needs of what the faster ones leave of a buffer B:
//!
//! share_p = min(need_p, B - sum over faster q of need_q f), f = 1, or max(1, r_p / r_q) for
//! ordered data,
//!
//! because what q sends in order while p's packet is under way waits for it in the buffers (BLEST
//! has this for two paths). For ordered data B is the size of the smaller buffer; else what is free
//! of it or in flight, so that bytes held for other reasons are nobody's.
//!
//! **Ranking.** S4's occupation ratio, outstanding data over the buffer, is taken over the path's
//! own part and in the path's time: m (1 + O_p / share_p), smallest first. A path above its part is
//! not used while anything is in flight.
//!
//! At small buffers the first part is all of it, and the transfer is that of the fastest path
//! alone. At large ones every need is granted, and all paths are full with a short queue. The
//! buffer is split here: the buffer policy that goes with it is `shared`. A path that becomes
//! longer for good looks like one with a queue, and is held to a few packets more than `queue`
//! until its state changes: m is never forgotten before, for with a queue that always stands it
//! would creep up.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, PathChange, PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::time::Duration;
use polypath_proto::view::{AssocView, ChunkMeta, PathView};
use smallvec::SmallVec;

use super::open_packet::OpenPacket;
use super::rtt_helpers::{in_flight, least_by, srtt_seconds};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("cmt-out-split", read_options)
    .summary(
        "the buffer split by need, fastest path first; ranked by outstanding data over the share",
    )
    .source("this project, on the conclusion of S4 and S2 section 4; docs/reference/schedulers.md")
    .options(&[OptionEntry {
        name: "queue",
        default: "8",
        values: "<1..1000>",
        summary: "packets that a path may queue",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let queue = options.number("queue", 1..=1_000)?;
    Ok(Box::new(move |_, _| Box::new(CmtOutSplit::new(queue))))
}

/// CMT-OUT over a buffer that is split by need.
#[derive(Clone, Debug)]
pub struct CmtOutSplit {
    queue: u32,
    /// The smallest RTT sample that each path's data gave.
    smallest: Vec<Option<Duration>>,
    open: OpenPacket,
}

/// A path and what it is granted, bytes.
type Shares<'a> = SmallVec<[(&'a PathView, f64); 8]>;

impl CmtOutSplit {
    /// A path may queue `queue` packets.
    pub fn new(queue: u32) -> Self {
        Self { queue, smallest: Vec::new(), open: OpenPacket::default() }
    }

    /// m, seconds. Heartbeats stand in until the path carried data; they are short, and so a little
    /// too fast.
    fn smallest_rtt(&self, view: &AssocView<'_>, path: &PathView) -> f64 {
        let own = self.smallest.get(path.id.index()).copied().flatten();
        let smallest = own.or(path.min_rtt);
        smallest.map_or_else(|| srtt_seconds(view, path), |m| m.as_secs_f64().max(1e-6))
    }

    /// What the path can use of the buffer, bytes.
    fn needed_share(&self, view: &AssocView<'_>, path: &PathView) -> f64 {
        let outstanding = path.outstanding as f64;
        let unqueued = (self.smallest_rtt(view, path) / srtt_seconds(view, path)).min(1.0);
        let on_the_wire = outstanding * unqueued;
        let queue = f64::from(self.queue) * f64::from(path.mtu);
        let cwnd = path.cwnd as f64;
        if outstanding - on_the_wire > queue {
            cwnd.min(on_the_wire + queue)
        } else if path.has_room() {
            2.0 * cwnd
        } else {
            cwnd
        }
    }

    /// The usable paths, fastest first, with their parts of the buffer.
    fn shares<'a>(&self, view: &AssocView<'a>, ordered: bool) -> Shares<'a> {
        let buffer = if ordered { sizes(view) } else { unheld(view) } as f64;
        let mut paths: SmallVec<[&PathView; 8]> = view.usable().collect();
        paths.sort_by(|a, b| self.smallest_rtt(view, a).total_cmp(&self.smallest_rtt(view, b)));
        let mut needs: SmallVec<[(f64, f64); 8]> = SmallVec::new();
        let mut shares = Shares::new();
        for path in paths {
            let rtt = srtt_seconds(view, path);
            let stay = |faster: f64| if ordered { (rtt / faster).max(1.0) } else { 1.0 };
            let reserved: f64 = needs.iter().map(|&(need, faster)| need * stay(faster)).sum();
            let need = self.needed_share(view, path);
            shares.push((path, need.min(buffer - reserved).max(0.0)));
            needs.push((need, rtt));
        }
        shares
    }

    fn choose_path(&self, view: &AssocView<'_>, next: &ChunkMeta) -> Option<PathId> {
        let shares = self.shares(view, next.ordered);
        let rank = |&(path, share): &(&PathView, f64)| {
            self.smallest_rtt(view, path) * (1.0 + path.outstanding as f64 / share)
        };
        let below = shares.iter().filter(|s| s.0.sendable && (s.0.outstanding as f64) < s.1);
        let first = below.min_by(|a, b| rank(a).total_cmp(&rank(b))).map(|&(path, _)| path);
        let stuck = !in_flight(view);
        let fastest =
            || least_by(view.sendable().filter(|_| stuck), |p| self.smallest_rtt(view, p));
        first.or_else(fastest).map(|p| p.id)
    }
}

/// The smaller one of both buffers.
fn sizes(view: &AssocView<'_>) -> u64 {
    view.peer_rwnd_max.min(view.send_buffer.limit)
}

/// What of both buffers is free or in flight: not held by data that arrived already.
fn unheld(view: &AssocView<'_>) -> u64 {
    let held: u64 = view.paths.iter().map(|p| p.queued.saturating_sub(p.outstanding_payload)).sum();
    let window = view.peer_rwnd.saturating_add(view.outstanding);
    window.min(view.send_buffer.limit.saturating_sub(held))
}

impl Policy for CmtOutSplit {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for CmtOutSplit {
    fn begin_attempt(&mut self, _view: &AssocView<'_>, _why: Trigger) {
        self.open.close();
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let bundle = self.open.path_for(next).and_then(|p| view.path(p)).filter(|p| p.sendable);
        let path = bundle.map(|p| p.id).or_else(|| self.choose_path(view, next));
        path.map_or(PathPick::Wait, PathPick::Use)
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        self.smallest.resize(view.paths.len(), None);
        if let (Some(smallest), Some(rtt)) = (self.smallest.get_mut(ev.path.index()), ev.rtt) {
            *smallest = Some(smallest.map_or(rtt, |s| s.min(rtt)));
        }
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.open.on_sent(view, path, chunk, new_packet);
    }

    fn on_path_change(&mut self, _view: &AssocView<'_>, path: PathId, _change: PathChange) {
        if let Some(smallest) = self.smallest.get_mut(path.index()) {
            *smallest = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, view};
    use polypath_proto::view::SendBufferView;

    /// Paths by smallest and smoothed RTT in ms, cwnd and outstanding.
    fn world(own: &[(u64, u64, u64, u64)]) -> Vec<PathView> {
        let mut p = paths(own.len() as u8);
        for (path, &(m, r, cwnd, outstanding)) in p.iter_mut().zip(own) {
            path.min_rtt = Some(Duration::from_millis(m));
            path.srtt = Some(Duration::from_millis(r));
            (path.cwnd, path.outstanding) = (cwnd, outstanding);
            (path.outstanding_payload, path.queued) = (outstanding, outstanding);
            path.mtu = 1_000;
            path.sendable = path.has_room();
        }
        p
    }

    fn shares(p: &[PathView], buffer: u64, ordered: bool) -> Vec<u64> {
        let mut view = view(p);
        view.send_buffer = SendBufferView::new(buffer, 0, 0, 0);
        (view.peer_rwnd, view.peer_rwnd_max) = (buffer, buffer);
        let shares = CmtOutSplit::new(3).shares(&view, ordered);
        shares.into_iter().map(|(_, share)| share.round() as u64).collect()
    }

    #[test]
    fn shares_by_hand() {
        // Path 0 has 30,000 outstanding, of which a quarter queues: 22,500 and three packets are
        // needed. Path 1 has no queue, and no room: it needs its cwnd.
        let p = world(&[(30, 40, 80_000, 30_000), (100, 100, 40_000, 40_000)]);
        assert_eq!(shares(&p, 100_000, false), [25_500, 40_000]);
        assert_eq!(shares(&p, 50_000, false), [25_500, 24_500]);
        assert_eq!(shares(&p, 20_000, false), [20_000, 0]);
        // Ordered: during path 1's 100 ms, path 0 sends two and a half times its need.
        assert_eq!(shares(&p, 100_000, true), [25_500, 36_250]);
        assert_eq!(shares(&p, 63_000, true), [25_500, 0]);
    }

    #[test]
    fn a_path_that_grows_is_granted_twice_its_window() {
        // A tenth of 20,000 bytes queues, less than three packets, and cwnd has room.
        let p = world(&[(90, 100, 25_000, 20_000), (200, 200, 40_000, 40_000)]);
        assert_eq!(shares(&p, 80_000, false), [50_000, 30_000]);
        assert_eq!(shares(&p, 50_000, false), [50_000, 0]);
    }

    #[test]
    fn what_is_held_already_is_no_ones() {
        let mut p = world(&[(30, 30, 80_000, 0), (100, 100, 40_000, 0)]);
        p[0].queued = 15_000;
        assert_eq!(shares(&p, 60_000, false), [45_000, 0]);
        assert_eq!(shares(&p, 60_000, true), [60_000, 0], "ordered data is foreseen, not counted");
    }

    #[test]
    fn the_least_occupied_share_goes_first() {
        let pick = |p: &[PathView]| {
            let mut view = view(p);
            view.send_buffer = SendBufferView::new(1 << 20, 0, 0, 0);
            (view.peer_rwnd, view.peer_rwnd_max) = (1 << 20, 1 << 20);
            CmtOutSplit::new(3).pick_path(&view, &chunk(0, 100))
        };
        // 40 (1 + 5.1 / 20) = 50.2 and 45 (1 + 8 / 80) = 49.5 ms.
        let mut p = world(&[(40, 40, 10_000, 5_100), (45, 45, 40_000, 8_000)]);
        assert_eq!(pick(&p), PathPick::Use(PathId(1)));
        // 40 (1 + 4.7 / 20) = 49.4 ms.
        p[0].outstanding = 4_700;
        assert_eq!(pick(&p), PathPick::Use(PathId(0)));
        // Both have long queues: 20,000 x 30 / 60 + 3000 is below what is outstanding.
        let p = world(&[(30, 60, 80_000, 20_000), (100, 200, 80_000, 20_000)]);
        assert_eq!(pick(&p), PathPick::Wait);
    }

    #[test]
    fn heartbeats_stand_in_until_data_was_measured() {
        let p = world(&[(30, 40, 80_000, 30_000), (29, 40, 80_000, 0)]);
        let mut out = CmtOutSplit::new(3);
        let order = |out: &CmtOutSplit| {
            let shares = out.shares(&view(&p), false);
            shares.iter().map(|(path, _)| path.id.0).collect::<Vec<_>>()
        };
        assert_eq!(order(&out), [1, 0]);
        let sample = |rtt| AckedInfo {
            path: PathId(1),
            bytes: 1000,
            outstanding_before: 1000,
            outstanding: 0,
            may_grow: true,
            rtt: Some(Duration::from_millis(rtt)),
            sack_path: PathId(1),
        };
        out.on_acked(&view(&p), &sample(35));
        out.on_acked(&view(&p), &sample(36));
        assert_eq!(order(&out), [0, 1]);
        assert_eq!(out.smallest, [None, Some(Duration::from_millis(35))]);
    }

    #[test]
    fn never_waits_for_nothing() {
        let mut p = world(&[(30, 30, 1 << 20, 0), (100, 100, 1 << 20, 0)]);
        p[0].sendable = false;
        let mut view = view(&p);
        view.send_buffer = SendBufferView::new(60_000, 0, 0, 0);
        assert_eq!(CmtOutSplit::new(3).pick_path(&view, &chunk(0, 100)), PathPick::Use(PathId(1)));
    }
}
