//! `cmt-out`: CMT-OUT, paths ranked by what is outstanding on them (S4 section III, S2).
//!
//! S4 leaves much open. What can be decided in more than one way is an option; its default is the
//! reading that follows the paper's text or, where that is silent, the formula. Not options:
//!
//! - Equation 2 is followed where the prose of section III-A contradicts it.
//! - Retransmissions are not in RoundData, not being "taken from the send buffer"; they do count as
//!   outstanding.
//! - Paths that are not usable are in neither class and do not take part in the minimum.
//! - A path that sends nothing keeps its PQU (equation 1).
//! - A zero window probe goes to the head of the ranking and counts as RoundData.
//! - Outstanding and RoundData are payload bytes, so that PQU and OBR have one unit with the
//!   receive buffer.

mod options;
mod pqu;

use polypath_proto::PathId;
use polypath_proto::policy::{PathChange, PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::open_packet::OpenPacket;
pub use options::{
    AllEqual, CmtOutConfig, Equality, Granularity, HighOrder, IdlePaths, SampleTime, TieOrder,
};
pub use pqu::Pqu;

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("cmt-out", read_options)
    .summary("CMT-OUT: paths ranked by outstanding against newly sent data, round by round")
    .source("S4 section III, S2 section 4")
    .options(options::OPTIONS);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let config = options::read_config(options)?;
    Ok(Box::new(move |_, _| Box::new(CmtOut::new(config))))
}

/// What is remembered of a path.
#[derive(Clone, Copy, Debug)]
struct Record {
    pqu: Pqu,
    /// RoundData: payload bytes sent in this round.
    round_data: u64,
    /// Payload outstanding before the first of them.
    before: u64,
    /// Packets begun in this round.
    packets: u32,
    /// Had its turn in this round.
    done: bool,
}

impl Record {
    const fn new(pqu: Pqu) -> Self {
        Self { pqu, round_data: 0, before: 0, packets: 0, done: false }
    }
}

/// CMT-OUT.
#[derive(Clone, Debug)]
pub struct CmtOut {
    config: CmtOutConfig,
    records: Vec<Record>,
    /// The ranking, without the paths that had their turn.
    order: Vec<PathId>,
    open: OpenPacket,
}

impl CmtOut {
    /// A scheduler that knows nothing of the paths yet.
    pub fn new(config: CmtOutConfig) -> Self {
        Self { config, records: Vec::new(), order: Vec::new(), open: OpenPacket::default() }
    }

    /// The next walk over the paths: S4's round.
    fn begin_walk(&mut self, view: &AssocView<'_>) {
        let initial = self.config.initial;
        self.records.resize(view.paths.len(), Record::new(initial));
        for (record, path) in self.records.iter_mut().zip(view.paths) {
            let idle = path.outstanding == 0 && view.now.since(path.last_data) > path.rto;
            let forget = idle && self.config.idle == IdlePaths::Reset;
            *record = Record::new(if forget { initial } else { record.pqu });
        }
        self.order = self.rank_paths(view);
    }

    /// S4 section III-D, steps 1 to 4, over the usable paths that did not have their turn yet.
    fn rank_paths(&self, view: &AssocView<'_>) -> Vec<PathId> {
        let record = |p: &&PathView| self.records.get(p.id.index());
        let mut paths: Vec<_> = view.usable().filter_map(|p| Some((p, record(&p)?.pqu))).collect();
        let threshold = paths.iter().map(|&(_, pqu)| pqu).min_by(Pqu::cmp_exact);
        let minimal = |pqu: Pqu| threshold.is_some_and(|t| self.config.equality.are_equal(pqu, t));
        let all_minimal = paths.iter().all(|&(_, pqu)| minimal(pqu));
        let none_low = all_minimal && self.config.all_equal == AllEqual::High;
        paths.sort_by_key(|&(path, pqu)| self.sort_key(path, minimal(pqu) && !none_low));
        let waiting = |p: &&PathView| record(p).is_some_and(|r| !r.done);
        paths.into_iter().map(|(p, _)| p).filter(waiting).map(|p| p.id).collect()
    }

    /// DSV first (equation 4), then the ties. OBR is outstanding over one constant, so outstanding
    /// ranks alike.
    fn sort_key(&self, path: &PathView, low: bool) -> (u64, bool, u64, PathId) {
        let dsv = if low { path.outstanding_payload } else { 0 };
        let class = low && self.config.ties == TieOrder::HighFirst;
        let by_age = dsv == 0 && self.config.high == HighOrder::Oldest;
        let age = if by_age { path.last_data.as_nanos() } else { 0 };
        (dsv, class, age, path.id)
    }

    /// Step 5: the first of the ranking that takes data.
    fn head_of_ranking(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> Option<PathId> {
        if self.config.granularity == Granularity::Packet
            && self.bundling_path(view, next).is_none()
        {
            self.order = self.rank_paths(view);
        }
        while let Some(&head) = self.order.first() {
            if self.takes_data(view, head, next) {
                return Some(head);
            }
            self.end_turn(view, head);
        }
        None
    }

    fn takes_data(&self, view: &AssocView<'_>, path: PathId, next: &ChunkMeta) -> bool {
        let sendable = view.path(path).is_some_and(|p| p.sendable);
        let packets = self.records.get(path.index()).map_or(0, |r| r.packets);
        sendable && (packets < self.config.burst || self.open.path_for(next) == Some(path))
    }

    fn bundling_path(&self, view: &AssocView<'_>, next: &ChunkMeta) -> Option<PathId> {
        self.open.path_for(next).filter(|&p| self.takes_data(view, p, next))
    }

    fn end_turn(&mut self, view: &AssocView<'_>, path: PathId) {
        if let Some(record) = self.records.get_mut(path.index()) {
            record.done = true;
        }
        if self.config.granularity == Granularity::Rerank {
            self.order = self.rank_paths(view);
        } else {
            self.order.retain(|&p| p != path);
        }
    }

    fn progress(&self) -> bool {
        self.records.iter().any(|r| r.packets > 0)
    }
}

impl Policy for CmtOut {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn trace_values(&self) -> Vec<(&'static str, f64)> {
        const NAMES: [&str; 16] = [
            "pqu0", "pqu1", "pqu2", "pqu3", "pqu4", "pqu5", "pqu6", "pqu7", "pqu8", "pqu9",
            "pqu10", "pqu11", "pqu12", "pqu13", "pqu14", "pqu15",
        ];
        NAMES.into_iter().zip(self.records.iter().map(|r| r.pqu.value())).collect()
    }
}

impl PathScheduler for CmtOut {
    fn begin_attempt(&mut self, view: &AssocView<'_>, _why: Trigger) {
        self.open.close();
        self.begin_walk(view);
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let mut path = self.head_of_ranking(view, next);
        if path.is_none() && self.config.repeat && self.progress() {
            self.begin_walk(view);
            path = self.head_of_ranking(view, next);
        }
        path.map_or(PathPick::Wait, PathPick::Use)
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.open.on_sent(view, path, chunk, new_packet);
        let outstanding = view.path(path).map_or(0, |p| p.outstanding_payload);
        let Some(record) = self.records.get_mut(path.index()) else { return };
        if record.round_data == 0 {
            record.before = outstanding.saturating_sub(u64::from(chunk.bytes));
        }
        record.packets += u32::from(new_packet);
        record.round_data += u64::from(chunk.bytes);
        let sample = match self.config.sample {
            SampleTime::After => outstanding,
            SampleTime::Before => record.before,
        };
        record.pqu = Pqu::new(sample, record.round_data);
    }

    fn on_path_change(&mut self, _view: &AssocView<'_>, path: PathId, change: PathChange) {
        let Some(record) = self.records.get_mut(path.index()) else { return };
        if change == PathChange::Added {
            *record = Record::new(self.config.initial);
        }
    }
}

#[cfg(test)]
mod tests;
