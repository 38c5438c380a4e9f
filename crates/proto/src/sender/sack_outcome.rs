//! A SACK as the sending half takes it, and what came of it.

use core::num::NonZeroU64;

use polypath_wire::{GapBlocks, Tsns};

use crate::ids::PathId;
use crate::time::{Duration, Time};
use crate::view::RateSample;

/// A SACK or NR-SACK with its TSNs extended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackInfo<'a> {
    pub(crate) cum: u64,
    pub(crate) a_rwnd: u32,
    pub(crate) gaps: GapBlocks<'a>,
    pub(crate) nr_gaps: GapBlocks<'a>,
    /// TSNs that the peer received again.
    pub(crate) duplicates: Tsns<'a>,
    /// DAC: packets that this SACK covers, at least 1.
    pub(crate) count: u8,
    /// A SHUTDOWN's cum-ack: the missing gap blocks withdraw nothing, the window is not stated (RFC
    /// 9260 section 9.2).
    pub(crate) cum_only: bool,
}

/// What came of a SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SackVerdict {
    /// Processed.
    Taken,
    /// Older than what is known: at most good for an RTT sample.
    Stale,
    /// It acknowledges what was never sent: ABORT (RFC 9260 section 12.4).
    Violation,
}

/// What a SACK did: to the association, and to each path.
#[derive(Clone, Debug)]
pub(crate) struct SackOutcome {
    /// The result for each path, in the order of their ids.
    pub(crate) paths: Vec<PathOutcome>,
    pub(crate) verdict: SackVerdict,
    /// The cum-ack point moved.
    pub(crate) cum_advanced: bool,
    /// Something was newly acknowledged, or the cum-ack point moved.
    pub(crate) news: bool,
    /// Payload bytes that left the send buffer.
    pub(crate) freed: u64,
    /// A chunk that had been fast-retransmitted was acknowledged (ns-2's condition for Max.Burst).
    pub(crate) fast_retransmission_acked: bool,
    /// The cum-ack passed a chunk that had been sent more than once.
    pub(crate) passed_retransmission: bool,
    /// TSNs withdrawn by the peer.
    pub(crate) reneged: u64,
    /// The highest TSN of its gap ack blocks, 0 if it has none.
    pub(super) highest_reported: u64,
    /// ns-2: the highest TSN that the cum-ack newly acknowledged.
    pub(super) highest_cum_acked: Option<u64>,
    /// Gap ack blocks that cannot be true.
    pub(crate) impossible_blocks: u32,
}

impl SackOutcome {
    /// The outcome of a SACK of which nothing was looked at yet. `paths` gives its memory.
    pub(super) fn new(mut paths: Vec<PathOutcome>) -> Self {
        paths.clear();
        Self {
            paths,
            verdict: SackVerdict::Taken,
            cum_advanced: false,
            news: false,
            freed: 0,
            fast_retransmission_acked: false,
            passed_retransmission: false,
            reneged: 0,
            highest_reported: 0,
            highest_cum_acked: None,
            impossible_blocks: 0,
        }
    }

    /// The result for path `p`.
    #[inline]
    pub(crate) fn path(&self, p: PathId) -> Option<&PathOutcome> {
        self.paths.get(p.index())
    }

    /// The result for path `p`.
    #[inline]
    pub(super) fn path_mut(&mut self, p: PathId) -> Option<&mut PathOutcome> {
        self.paths.get_mut(p.index())
    }

    /// The results of all paths.
    pub(crate) fn by_path(&self) -> impl Iterator<Item = (PathId, &PathOutcome)> {
        (0..).map(PathId).zip(&self.paths)
    }
}

/// The result of a SACK for one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathOutcome {
    /// DATA chunk bytes newly acknowledged.
    pub(crate) newly_acked: u64,
    pub(crate) outstanding_before: u64,
    /// Bytes declared lost before the SACK.
    pub(super) lost_before: u64,
    /// A delivery-rate sample.
    pub(crate) rate: Option<RateSample>,
    /// CUC: the path's pseudo-cum-ack moved.
    pub(crate) new_pseudo_cumack: bool,
    /// A chunk that was sent once, hence unambiguous, was acknowledged.
    pub(crate) acked_once: bool,
    /// The round trip of a chunk of the path that had been copied elsewhere and arrived after the
    /// copy.
    pub(crate) copied_trip: Option<Duration>,
    /// A chunk that was sent on this path alone, how often so ever, was acknowledged.
    pub(crate) acked_here_alone: bool,
    pub(crate) acked: bool,
    /// One that lies above the cum-ack was.
    pub(super) gap_acked: bool,
    /// Chunks marked for fast retransmit.
    pub(crate) lost: u32,
    /// The path enters fast recovery by this SACK.
    pub(crate) entered_recovery: bool,
    /// The latest timeout turned out to be spurious, and is undone but for the windows.
    pub(crate) spurious_timeout: bool,
    /// A copy here left the flight, for whatever reason.
    pub(super) copy_left: bool,
    /// RACK: the latest transmission, (sent, TSN), that this SACK proves delivered.
    pub(super) newest_delivered: Option<(Time, u64)>,
    /// An RTT sample.
    pub(crate) rtt: Option<Duration>,
    /// ns-2: an expected pseudo-cum-ack was acknowledged.
    pub(super) expected_acked: bool,
    /// ns-2: the cum-ack passed a chunk that stops T3-rtx, and the lowest TSN unacknowledged then.
    pub(super) t3_stopped: bool,
    /// No TSN but an initial one can be 0, and 8 bytes do.
    pub(super) lowest_watched: Option<NonZeroU64>,
    /// T3-rtx started anew by this SACK, where ns-2 gives it the RTO that the SACK brought.
    pub(crate) t3_restarted: bool,
    /// SFR and DAC: the newly acknowledged TSNs of this path that may speak for reordering.
    pub(super) lowest_newack: Option<NonZeroU64>,
    pub(super) highest_newack: Option<NonZeroU64>,
    /// When the latest of them was sent.
    pub(super) newack_sent: Time,
    /// Pseudo-cum-acks before the SACK.
    pub(super) pseudo_never_retransmitted: Option<NonZeroU64>,
    pub(super) pseudo_retransmitted: Option<NonZeroU64>,
    /// The chunk in flight that was sent first, before the SACK.
    pub(super) earliest_sent: Option<(u64, Time)>,
}

impl PathOutcome {
    /// The round trip of the latest chunk acknowledged, where RACK keeps the times of all; else a
    /// sample of one per round trip.
    pub(crate) fn latest_rtt(&self, now: Time) -> Option<Duration> {
        self.newest_delivered.map(|(sent, _)| now.since(sent)).or(self.rtt)
    }
}
