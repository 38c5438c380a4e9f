//! Which losses of a round are those that come without congestion (`residual`).

use polypath_proto::time::Duration;

use super::ack::Ack;
use super::model::Model;
use super::state::BbrState;

/// An empty path's round trip is at most so much above the smallest one.
const QUEUE: f64 = 1.125;
/// Hosts' own delay, beside that.
const HOST: Duration = Duration::from_millis(1);

impl Model {
    /// A round of losses ends: does it tell what is lost anyway?
    pub(super) fn residual_round_ended(&mut self, ack: &Ack<'_>) {
        if self.residual.is_none() {
            return;
        }
        let was_calm = matches!(self.state, BbrState::Down | BbrState::Cruise) && !self.saw_queue();
        let (lost, sent) = (self.packets(self.latest.lost), self.packets(self.latest.sent()));
        self.round_least_rtt = None;
        if let Some(residual) = self.residual.as_mut().filter(|_| was_calm) {
            residual.round_ended(ack.now, sent, lost);
        }
    }

    /// Whether the losses of the round that ends are what is lost anyway.
    pub(super) fn is_round_excused(&self) -> bool {
        self.latest.lost as f64 <= self.expected_loss(self.latest.sent())
    }

    /// Bytes that may get lost of so many without congestion; 0 without `residual`.
    pub(super) fn expected_loss(&self, sent: u64) -> f64 {
        let Some(residual) = &self.residual else { return 0.0 };
        residual.expected(self.packets(sent)) * self.smss as f64
    }

    /// Whether even the shortest round trip of the round met a queue.
    fn saw_queue(&self) -> bool {
        let Some((least, base)) = self.round_least_rtt.zip(self.min_rtt.least) else { return true };
        least > base.mul_f64(QUEUE) + HOST
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.smss as f64
    }
}
