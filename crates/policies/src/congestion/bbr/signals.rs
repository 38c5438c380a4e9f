//! What recent losses and deliveries told: the short-term model, the latest round, and what is
//! restored where losses were none.

use polypath_proto::time::Time;

use super::state::BbrState;

/// The short-term model: what recent losses leave of rate and volume. Without losses, infinite.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortTerm {
    /// BBR.bw_shortterm, bytes per second.
    pub(super) bw: f64,
    /// BBR.inflight_shortterm, bytes.
    pub(super) inflight: f64,
}

impl ShortTerm {
    /// `ResetShortTermModel`.
    pub(super) const fn forget(&mut self) {
        (self.bw, self.inflight) = (f64::INFINITY, f64::INFINITY);
    }
}

impl Default for ShortTerm {
    fn default() -> Self {
        Self { bw: f64::INFINITY, inflight: f64::INFINITY }
    }
}

/// The delivery process of the latest round, and whether something was lost in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LatestRound {
    /// BBR.bw_latest, bytes per second.
    pub(super) bw: f64,
    /// BBR.inflight_latest, bytes.
    pub(super) inflight: f64,
    /// The same of the round that ended with this acknowledgement.
    pub(super) inflight_before: f64,
    /// BBR.loss_round_delivered.
    pub(super) delivered: u64,
    /// BBR.loss_round_start.
    pub(super) round_started: bool,
    /// BBR.is_loss_in_round.
    pub(super) has_loss: bool,
    /// Transmissions lost in this round, and in the one that ended with this acknowledgement.
    pub(super) lost_ranges: u32,
    pub(super) lost_ranges_before: u32,
    /// Bytes lost and delivered in this round.
    pub(super) lost: u64,
    pub(super) acked: u64,
    /// When the first loss of the round was found, with which it begins.
    pub(super) began: Time,
}

impl LatestRound {
    pub(super) fn from(began: Time) -> Self {
        Self { began, ..Self::default() }
    }

    /// Bytes of which it is known in this round what became of them.
    pub(super) const fn sent(&self) -> u64 {
        self.lost + self.acked
    }
}

/// What is restored after losses that were none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// BBR.undo_state.
    pub(super) state: Option<BbrState>,
    /// When that was saved, or what was restored then had changed.
    pub(super) saved: Time,
    pub(super) short_term: ShortTerm,
    pub(super) inflight_longterm: f64,
}
