//! A send attempt: from an event that may allow sending until nothing more can go (a "round" in
//! CMT-OUT, the scheduler of Dreibholz et al. 2010).

use crate::config::{AssocConfig, BurstRule};
use crate::ids::PathId;
use crate::path::PathSet;
use crate::policy::Trigger;
use crate::sender::ChunkInFlight;
use crate::time::Time;
use crate::view::ChunkMeta;

/// The send attempt under way, and what is known of the next.
#[derive(Debug, Default)]
pub(crate) struct SendAttempt {
    requested: Option<Trigger>,
    active: Option<Trigger>,
    began: Time,
    /// Packets of new data so far.
    packets: u32,
    fast_retransmission_acked: bool,
    /// As in ns-2, Max.Burst applies since the cum-ack passed a retransmission.
    is_limited: bool,
    /// Where the chunk that blocks a buffer shall move (see `chunk_rescheduling`).
    pub(super) planned_move: Option<PathId>,
}

impl SendAttempt {
    /// Asks for a send attempt. A SACK is the more telling reason when several come together.
    pub(crate) fn request(&mut self, why: Trigger) {
        if self.requested != Some(Trigger::Sack) {
            self.requested = Some(why);
        }
    }

    /// A SACK came. Whether it acknowledged a fast retransmission is ns-2's condition for
    /// Max.Burst.
    pub(crate) const fn note_sack(&mut self, fast_retransmission_acked: bool) {
        self.fast_retransmission_acked = fast_retransmission_acked;
    }

    /// The cum-ack passed a chunk that had been sent again: ns-2 begins to apply Max.Burst.
    pub(crate) const fn note_retransmission_passed(&mut self) {
        self.is_limited = true;
    }

    /// Whether ns-2 applies Max.Burst to all that is sent.
    pub(super) const fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// ns-2 without CMT applies it until it bounds a burst.
    pub(super) const fn end_limit(&mut self) {
        self.is_limited = false;
    }

    /// A path was removed: the blocking chunk is to be moved nowhere.
    pub(crate) const fn cancel_move(&mut self) {
        self.planned_move = None;
    }

    /// Whether one is under way.
    #[inline]
    pub(super) const fn is_active(&self) -> bool {
        self.active.is_some()
    }

    /// Takes the reason for another attempt, if there is one.
    pub(super) const fn take_request(&mut self) -> Option<Trigger> {
        self.requested.take()
    }

    /// There is no data: the attempt that was asked for does not begin.
    pub(super) const fn skip(&mut self) {
        self.fast_retransmission_acked = false;
    }

    /// Begins an attempt, and says of every path how much new data it may send in it (Max.Burst). A
    /// write in the same instant continues the attempt that the SACK began: Max.Burst counts for
    /// both. Where data is paced the pacer bounds bursts, and Max.Burst does not: a SACK that
    /// answers many packets, or a timer that a host serves late, must allow more.
    pub(super) fn begin(
        &mut self,
        now: Time,
        why: Trigger,
        paths: &mut PathSet,
        is_paced: bool,
        config: &AssocConfig,
    ) {
        let fresh = why != Trigger::Write || now > self.began || self.began == Time::ZERO;
        let limited = !is_paced
            && match config.reproduction.max_burst_rule {
                BurstRule::Always | BurstRule::PerAcked => true,
                BurstRule::AfterFastRetransmit => self.fast_retransmission_acked || self.is_limited,
            };
        self.active = Some(why);
        self.began = now;
        self.packets = 0;
        self.fast_retransmission_acked = false;
        if fresh {
            let burst = config.max_burst.filter(|_| limited);
            grant_bursts(burst, paths, config.reproduction.max_burst_rule);
            if config.reproduction.ns2.burst_limit_stays {
                count_retransmissions(paths);
            }
        }
    }

    /// Another packet of new data begins.
    pub(super) const fn count_packet(&mut self) {
        self.packets += 1;
    }

    /// Nothing more can go. Gives why the attempt had begun, and its packets; `None` if none was
    /// under way.
    pub(super) fn end(&mut self) -> Option<(Trigger, u32)> {
        self.active.take().map(|why| (why, self.packets))
    }
}

/// Bytes of new data that each path may send in an attempt that begins: `burst` packets, or that
/// for each two packets' worth of bytes that was acknowledged since the last one.
fn grant_bursts(burst: Option<u32>, paths: &mut PathSet, rule: BurstRule) {
    for (view, path) in paths.iter_mut() {
        let acked = core::mem::take(&mut path.acked);
        let Some(burst) = burst.map(u64::from) else {
            path.burst_left = u64::MAX;
            continue;
        };
        // SACKs come for every second packet (RFC 9260 section 6.2).
        let acked = match rule {
            BurstRule::PerAcked => burst.saturating_mul(acked) / 2,
            BurstRule::Always | BurstRule::AfterFastRetransmit => 0,
        };
        path.burst_left = acked.max(burst.saturating_mul(view.pmdcs.into()));
    }
}

/// What was retransmitted since the SACK belongs to the burst of new data, in ns-2.
fn count_retransmissions(paths: &mut PathSet) {
    for (view, path) in paths.iter_mut() {
        let packets = path.ns2.as_ref().map_or(0, |own| own.resent_packets);
        let again = u64::from(packets) * u64::from(view.pmdcs);
        path.burst_left = path.burst_left.saturating_sub(again);
    }
}

/// What a chunk of `bytes` takes of that; `packet`: what a packet that begins with it can carry, 0
/// if none does. RFC 9260 counts packets, of whatever size; where acknowledged bytes pay for the
/// burst, bytes are counted.
pub(super) const fn burst_cost(rule: BurstRule, packet: u32, bytes: u32) -> u64 {
    match rule {
        BurstRule::PerAcked => bytes as u64,
        BurstRule::Always | BurstRule::AfterFastRetransmit => packet as u64,
    }
}

/// What goes out next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transmission {
    /// The lowest marked chunk of path `from`, on `to`.
    Retransmit { from: PathId, to: PathId, bytes: u32 },
    /// A new chunk of a stream, of `size` bytes with its header.
    NewData { path: PathId, chunk: ChunkMeta, size: u64 },
    /// A chunk in flight on `from`, on `to` as well.
    Duplicate { from: PathId, to: PathId, chunk: ChunkInFlight },
    /// A chunk in flight once more, as a tail-loss probe.
    TailLossProbe { path: PathId, chunk: ChunkInFlight },
}

impl Transmission {
    /// The path that it takes.
    pub(super) const fn path(&self) -> PathId {
        match self {
            Self::Retransmit { to, .. } | Self::Duplicate { to, .. } => *to,
            Self::NewData { path, .. } | Self::TailLossProbe { path, .. } => *path,
        }
    }

    /// Bytes of the data chunk, padded.
    pub(super) const fn size(&self) -> usize {
        match self {
            Self::Retransmit { bytes, .. } => *bytes as usize,
            Self::NewData { size, .. } => *size as usize,
            Self::Duplicate { chunk, .. } | Self::TailLossProbe { chunk, .. } => {
                chunk.bytes as usize
            }
        }
    }
}
