//! Which share of a path's packets is lost.

use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

/// After so many chunks, or so long, the past counts half.
const WINDOW: u64 = 512;
const WINDOW_TIME: Duration = Duration::from_secs(16);

/// Chunks without a loss that every path is credited with: a few losses early on prove little, and a path that is not used
/// is believed in again as its record fades.
const CREDIT: f64 = 128.0;

/// The share of lost chunks among those sent, the newest ones weighing most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare {
    began: Time,
    /// The path's counters at that time.
    sent: u64,
    lost: u64,
    /// What earlier windows still weigh.
    before: (f64, f64),
}

impl LossShare {
    /// Time passed, and the path's counters moved on.
    pub(super) fn update(&mut self, now: Time, path: &PathView) {
        let (sent, lost) = self.latest(path);
        if sent < WINDOW && now.since(self.began) < WINDOW_TIME {
            return;
        }
        self.before = ((self.before.0 + sent as f64) / 2.0, (self.before.1 + lost as f64) / 2.0);
        (self.began, self.sent, self.lost) = (now, path.data_chunks, path.lost_chunks);
    }

    /// The share, 0 to 1.
    pub(super) fn share(&self, path: &PathView) -> f64 {
        let (sent, lost) = self.latest(path);
        let sent = self.before.0 + sent as f64 + CREDIT;
        ((self.before.1 + lost as f64) / sent).min(1.0)
    }

    const fn latest(&self, path: &PathView) -> (u64, u64) {
        let sent = path.data_chunks.saturating_sub(self.sent);
        (sent, path.lost_chunks.saturating_sub(self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::paths;

    fn close(loss: &LossShare, path: &PathView, share: f64) {
        assert!((loss.share(path) - share).abs() < 1e-9, "{}", loss.share(path));
    }

    #[test]
    fn the_past_fades_with_chunks() {
        let mut path = paths(1).remove(0);
        let mut loss = LossShare::default();
        (path.data_chunks, path.lost_chunks) = (512, 64);
        close(&loss, &path, 64.0 / 640.0);
        loss.update(Time::ZERO, &path);
        // Half of them still count: 32 of 256, and 512 more without a loss.
        path.data_chunks = 1024;
        close(&loss, &path, 32.0 / 896.0);
    }

    #[test]
    fn a_path_that_is_not_used_is_believed_in_again() {
        let mut path = paths(1).remove(0);
        let mut loss = LossShare::default();
        (path.data_chunks, path.lost_chunks) = (64, 8);
        loss.update(Time::from_millis(15_999), &path);
        close(&loss, &path, 8.0 / 192.0);
        for second in [16, 32, 48] {
            loss.update(Time::from_millis(1_000 * second), &path);
        }
        close(&loss, &path, 1.0 / 136.0);
    }
}
