//! Which share of a path's packets is lost.

use polypath_proto::view::PathView;

/// Chunks after which the past counts half.
const WINDOW: u64 = 512;

/// Chunks that say nothing yet.
const FEW: u64 = 32;

/// The share of lost chunks among those sent, the newest ones weighing most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare {
    /// The path's counters when the window began.
    sent: u64,
    lost: u64,
    /// What earlier windows still weigh.
    before: (f64, f64),
}

impl LossShare {
    /// The path's counters moved on.
    pub(super) fn update(&mut self, path: &PathView) {
        let sent = path.data_chunks.saturating_sub(self.sent);
        if sent < WINDOW {
            return;
        }
        let lost = path.lost_chunks.saturating_sub(self.lost);
        self.before = ((self.before.0 + sent as f64) / 2.0, (self.before.1 + lost as f64) / 2.0);
        (self.sent, self.lost) = (path.data_chunks, path.lost_chunks);
    }

    /// The share, 0 to 1.
    pub(super) fn share(&self, path: &PathView) -> f64 {
        let sent = self.before.0 + path.data_chunks.saturating_sub(self.sent) as f64;
        let lost = self.before.1 + path.lost_chunks.saturating_sub(self.lost) as f64;
        if sent < FEW as f64 { 0.0 } else { (lost / sent).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::paths;

    #[test]
    fn the_past_fades() {
        let mut path = paths(1).remove(0);
        let mut loss = LossShare::default();
        (path.data_chunks, path.lost_chunks) = (20, 5);
        loss.update(&path);
        assert_eq!(loss.share(&path), 0.0, "too few");
        (path.data_chunks, path.lost_chunks) = (512, 51);
        loss.update(&path);
        assert!((loss.share(&path) - 51.0 / 512.0).abs() < 1e-9);
        // 512 without a loss, then 512 more: (51 / 2) / (256 + 512), and half of that over a little less.
        path.data_chunks = 1024;
        assert!((loss.share(&path) - 25.5 / 768.0).abs() < 1e-9);
        loss.update(&path);
        path.data_chunks = 1536;
        assert!((loss.share(&path) - 12.75 / 896.0).abs() < 1e-9);
    }
}
