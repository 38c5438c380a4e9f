//! The sending half against hand-worked sequences: each test is a row of packets and the SACKs that
//! come back.

mod abandon;
mod books;
mod copy;
mod cuc;
mod delivery_rate;
mod doubtful_timeouts;
mod forward_tsn;
mod limits;
mod model;
mod moves;
mod nr_sack;
mod ns2;
mod open_messages;
mod reactions;
mod recovery;
mod removed_paths;
mod reports;
mod room;
mod send_queue;
mod sfr;
mod tail_probes;
mod timers;

use bytes::Bytes;
use polypath_wire::{GapBlock, GapBlocks, ItemsBuf, PacketWriter, Tsns};

use super::recovery::ProbeTimer;
use super::sack_outcome::PathOutcome;
use super::{Losses, NewChunk, SackInfo, SackOutcome, SackVerdict, Sender};
use crate::config::{AssocConfig, CmtConfig, Encapsulation, RecoveryConfig};
use crate::ids::{FourTuple, PathId, StreamId, Tsn};
use crate::path::PathSet;
use crate::policy::FirstCome;
use crate::sender::SendOptions;
use crate::time::{Duration, Time};
use crate::tsn_map::{EPOCH, extend, wire};

/// Chunk bytes of the messages used here.
pub(super) const SIZE: u64 = 1016;

/// A sender with paths and no association around it. TSNs are counted from 1.
pub(super) struct Rig {
    pub(super) tx: Sender,
    pub(super) paths: PathSet,
    pub(super) config: AssocConfig,
    pub(super) now: Time,
    /// What the latest SACK did.
    pub(super) outcome: SackOutcome,
    newest: PathId,
    first: u64,
}

impl Rig {
    pub(super) fn new(n: u16, cmt: CmtConfig) -> Self {
        let initial = Tsn(u32::MAX - 5);
        Self::with(n, initial, AssocConfig { cmt, ..AssocConfig::default() })
    }

    /// A rig whose paths recover by `recovery`.
    pub(super) fn recovering(n: u16, recovery: RecoveryConfig) -> Self {
        let config = AssocConfig { recovery, ..AssocConfig::default() };
        Self::with(n, Tsn(u32::MAX - 5), config)
    }

    fn with(n: u16, initial: Tsn, config: AssocConfig) -> Self {
        let mut tx = Sender::new(initial, &config);
        tx.set_peer_window(1 << 30);
        let mut paths = PathSet::new(Encapsulation::Raw);
        for i in 0..n {
            let local = ([10, 0, i as u8, 1], 0).into();
            let remote = ([10, 0, i as u8, 2], 0).into();
            let p = paths.add(Time::ZERO, FourTuple { local, remote }, true, &config).unwrap();
            tx.add_path(p);
        }
        let (now, newest) = (Time::from_secs(1), PathId(0));
        let outcome = SackOutcome::new(Vec::new());
        Self { tx, paths, config, now, outcome, newest, first: extend(EPOCH, initial) }
    }

    /// The extended TSN of the `n`-th chunk, counted from 1.
    pub(super) fn tsn(&self, n: u64) -> u64 {
        self.first + n - 1
    }

    /// Sends one new chunk per entry, on that path.
    pub(super) fn send(&mut self, on: &[u8]) {
        for &p in on {
            let data = Bytes::from_static(&[0; 1000]);
            let options = SendOptions::default();
            self.tx.enqueue(self.now, StreamId(0), data, options, &mut FirstCome).unwrap();
            let mut buf = Vec::new();
            let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
            let path = PathId(p);
            let departure = NewChunk { path, stream: StreamId(0), bytes: 1000, immediate: false };
            let (paths, fcfs) = (&mut self.paths, &mut FirstCome);
            let sent = self.tx.send_new(self.now, departure, &mut writer, paths, fcfs);
            assert!(sent.is_some());
        }
    }

    /// Sends the lowest marked chunk of `from` again on `to`; gives its number.
    pub(super) fn resend(&mut self, from: u8, to: u8) -> u64 {
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
        let (from, to) = (PathId(from), PathId(to));
        let sent = self.tx.send_again(self.now, from, to, &mut writer, &mut self.paths);
        sent.unwrap().0 - self.first + 1
    }

    /// Sends the lowest chunk that is in flight on `from` alone on `to` as well; gives its number.
    pub(super) fn copy(&mut self, from: u8, to: u8) -> Option<u64> {
        let (from, to) = (PathId(from), PathId(to));
        self.tx.begin_copying(from);
        let head = self.tx.outstanding.lowest_uncopied(from)?;
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
        let sent = self.tx.send_copy(self.now, head.tsn, to, &mut writer, &mut self.paths);
        sent.then_some(head.tsn + 1 - self.first)
    }

    /// A SACK on `arrival`: everything up to chunk `cum`, and these ranges of chunk numbers.
    pub(super) fn sack(&mut self, arrival: u8, cum: u64, gaps: &[(u64, u64)]) -> SackOutcome {
        self.nr_sack(arrival, cum, gaps, &[], 1)
    }

    pub(super) fn nr_sack(
        &mut self,
        arrival: u8,
        cum: u64,
        gaps: &[(u64, u64)],
        nr: &[(u64, u64)],
        count: u8,
    ) -> SackOutcome {
        self.full_sack(arrival, cum, gaps, nr, count, &[])
    }

    /// A SACK that reports chunks as received again.
    pub(super) fn duplicates(&mut self, arrival: u8, cum: u64, twice: &[u64]) -> SackOutcome {
        self.full_sack(arrival, cum, &[], &[], 1, twice)
    }

    /// The cum-ack of a SHUTDOWN.
    pub(super) fn shutdown(&mut self, arrival: u8, cum: u64) -> SackOutcome {
        let info = SackInfo {
            cum: self.first + cum - 1,
            a_rwnd: 0,
            gaps: GapBlocks::EMPTY,
            nr_gaps: GapBlocks::EMPTY,
            duplicates: Tsns::EMPTY,
            count: 1,
            cum_only: true,
        };
        let (now, paths, config) = (self.now, &mut self.paths, &self.config);
        self.outcome = self.tx.on_sack(now, PathId(arrival), self.newest, &info, paths, config);
        self.outcome.clone()
    }

    fn full_sack(
        &mut self,
        arrival: u8,
        cum: u64,
        gaps: &[(u64, u64)],
        nr: &[(u64, u64)],
        count: u8,
        twice: &[u64],
    ) -> SackOutcome {
        let blocks = |ranges: &[(u64, u64)]| -> ItemsBuf<GapBlock, 4> {
            let offset = |n: u64| n.saturating_sub(cum) as u16;
            let block = |&(a, b): &(u64, u64)| GapBlock { start: offset(a), end: offset(b) };
            ranges.iter().map(block).collect()
        };
        let (gaps, nr) = (blocks(gaps), blocks(nr));
        let twice: ItemsBuf<Tsn, 4> = twice.iter().map(|&n| wire(self.tsn(n))).collect();
        let info = SackInfo {
            cum: self.first + cum - 1,
            a_rwnd: 1 << 30,
            gaps: gaps.as_items(),
            nr_gaps: nr.as_items(),
            duplicates: twice.as_items(),
            count,
            cum_only: false,
        };
        let arrival = PathId(arrival);
        let outcome =
            self.tx.on_sack(self.now, arrival, self.newest, &info, &mut self.paths, &self.config);
        if outcome.news && outcome.verdict == SackVerdict::Taken {
            self.newest = arrival;
        }
        self.outcome = outcome.clone();
        outcome
    }

    /// Serves the reordering timer and PTO of `p`; a probe goes out as a retransmission.
    pub(super) fn serve_timers(&mut self, p: u8) -> Losses {
        let p = PathId(p);
        let losses = self.tx.expire_reordering_timer(self.now, p, &mut self.paths);
        if self.tx.expire_probe_timer(self.now, p, &mut self.paths) == ProbeTimer::Due {
            if let Some(probe) = self.tx.probe_candidate(self.now, p) {
                let mut buf = Vec::new();
                let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
                let (now, paths) = (self.now, &mut self.paths);
                assert!(self.tx.send_probe(now, probe.tsn, p, &mut writer, paths));
            }
            self.tx.recovery.drop_probe(p);
        }
        losses
    }

    pub(super) fn timeout(&mut self, p: u8) -> u32 {
        self.tx.on_timeout(self.now, PathId(p), &mut self.paths, &self.config)
    }

    pub(super) fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    pub(super) fn outstanding(&self, p: u8) -> u64 {
        self.paths.view(PathId(p)).unwrap().outstanding
    }

    /// What the latest SACK did to a path.
    pub(super) fn path_outcome(&self, p: PathId) -> PathOutcome {
        self.outcome.path(p).copied().unwrap_or_default()
    }

    pub(super) fn lost(&self, p: u8) -> u32 {
        self.path_outcome(PathId(p)).lost
    }

    pub(super) fn pseudo(&self, p: u8) -> bool {
        self.path_outcome(PathId(p)).new_pseudo_cumack
    }

    pub(super) fn in_recovery(&self, p: u8) -> bool {
        self.paths.view(PathId(p)).unwrap().in_recovery
    }
}
