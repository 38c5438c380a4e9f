//! What is known of one path, and how much may be in flight on it.

use polypath_proto::view::PathView;

use super::burst::Burst;
use super::loss::LossShare;
use crate::competitor::{Competitor, Known};
use crate::estimate::PathEstimate;

/// A path in every so many rounds is offered a quarter more than it is known to carry.
const PROBE_EVERY: u32 = 8;

/// One path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Own {
    pub(super) estimate: PathEstimate,
    /// The estimate's rate, which every decision asks for.
    pub(super) rate: f64,
    pub(super) rounds: u32,
    pub(super) competitor: Competitor,
    pub(super) loss: LossShare,
    pub(super) burst: Burst,
    /// Paths that share its bottleneck, itself included.
    pub(super) members: u64,
    /// Bytes of the buffer that no path needs, in equal parts.
    pub(super) spare: f64,
}

impl Own {
    /// What may be in flight on the path, bytes.
    pub(super) fn cap(&self, path: &PathView, slack: u64) -> u64 {
        self.competitor.cap(self.fair_cap(path, slack))
    }

    /// The same where nobody else fills the queue.
    fn fair_cap(&self, path: &PathView, slack: u64) -> u64 {
        let bdp = self.bdp(path);
        // Paths of one bottleneck keep one queue between them and ask for one share more.
        let slack = slack * u64::from(path.mtu) / self.members.max(1);
        if !self.estimate.is_full() {
            return ((2.0 * bdp) as u64).max(path.cwnd.min(10 * u64::from(path.mtu))) + slack;
        }
        if let Some(limit) = self.estimate.test_limit(path) {
            return limit;
        }
        let gain = if self.turn(path).is_multiple_of(PROBE_EVERY) {
            1.0 + 0.25 / self.members.max(1) as f64
        } else {
            1.0
        };
        let reserve =
            if self.spare > 0.0 { self.estimate.reserve(path).min(self.spare) } else { 0.0 };
        (gain * bdp + reserve) as u64 + slack
    }

    /// Rounds, with paths taking turns: probes at the same time would hide whose they were.
    fn turn(&self, path: &PathView) -> u32 {
        self.rounds.wrapping_add(3 * u32::from(path.id.0))
    }

    /// Bandwidth-delay product in bytes; zero while the path is not measured.
    pub(super) fn bdp(&self, path: &PathView) -> f64 {
        self.rate * self.estimate.min_rtt(path).unwrap_or_default().as_secs_f64()
    }

    /// What a queue of somebody else is told by; nothing while the path was never full.
    pub(super) fn known(&self, path: &PathView, slack: u64) -> Option<Known> {
        let base = self.estimate.min_rtt(path).filter(|_| self.estimate.is_full())?;
        Some(Known { base, rate: self.rate, slack })
    }
}
