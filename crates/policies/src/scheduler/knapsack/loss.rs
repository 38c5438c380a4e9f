//! Which share of a path's packets is lost.

use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

/// After so many chunks, or so long, the past counts half.
const WINDOW: u64 = 512;
const WINDOW_TIME: Duration = Duration::from_secs(16);

/// Chunks without a loss that every path is credited with: the first loss proves little, and a path
/// that is not used is believed in again as its record fades. With more, a path that loses a tenth
/// carries ordered data for seconds before that is known.
const CREDIT: f64 = 32.0;

/// The same for cuts of the window. A path whose window is thought small gets company that it would
/// do better without: an early cut or two must not decide that.
const CUT_CREDIT: f64 = 384.0;

/// The share of lost chunks among those sent, the newest ones weighing most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare {
    began: Time,
    /// The path's counters at that time.
    sent: u64,
    lost: u64,
    /// Times that the path's window was cut since.
    cuts: u64,
    /// What earlier windows still weigh: chunks, losses, cuts.
    before: (f64, f64, f64),
    /// How far the path is with the losses that end its first slow start.
    overshoot: Overshoot,
}

/// Slow start ends when a queue overflows, and loses up to a window at once. That tells of the
/// queue's size, not of how the path carries data from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Overshoot {
    #[default]
    ToCome,
    /// The recovery of these losses goes on.
    Now,
    Over,
}

impl LossShare {
    /// The path's window is about to be cut.
    pub(super) fn cut(&mut self, path: &PathView) {
        self.cuts += 1;
        if self.overshoot == Overshoot::ToCome {
            let slow_start = path.cwnd < path.ssthresh;
            self.overshoot = if slow_start { Overshoot::Now } else { Overshoot::Over };
        }
    }

    /// Time passed, and the path's counters moved on.
    pub(super) fn update(&mut self, now: Time, path: &PathView) {
        if self.overshoot == Overshoot::Now {
            self.lost = path.lost_chunks;
            if !path.in_recovery {
                self.overshoot = Overshoot::Over;
            }
        }
        let (sent, lost) = self.latest(path);
        if sent < WINDOW && now.since(self.began) < WINDOW_TIME {
            return;
        }
        let fade = |before: f64, latest: u64| (before + latest as f64) / 2.0;
        let (b_sent, b_lost, b_cuts) = self.before;
        self.before = (fade(b_sent, sent), fade(b_lost, lost), fade(b_cuts, self.cuts));
        (self.began, self.sent, self.lost) = (now, path.data_chunks, path.lost_chunks);
        self.cuts = 0;
    }

    /// The share, 0 to 1.
    #[inline]
    pub(super) fn share(&self, path: &PathView) -> f64 {
        let (sent, lost) = self.latest(path);
        let sent = self.before.0 + sent as f64 + CREDIT;
        ((self.before.1 + lost as f64) / sent).min(1.0)
    }

    /// The share of chunks after which the window was cut: the losses of one window count once
    /// (Mathis et al. 1997).
    pub(super) fn cut_share(&self, path: &PathView) -> f64 {
        let (sent, _) = self.latest(path);
        ((self.before.2 + self.cuts as f64) / (self.before.0 + sent as f64 + CUT_CREDIT)).min(1.0)
    }

    const fn latest(&self, path: &PathView) -> (u64, u64) {
        let sent = path.data_chunks.saturating_sub(self.sent);
        (sent, path.lost_chunks.saturating_sub(self.lost))
    }
}

/// Packets that a window comes to on average which is halved after a share `cuts` of packets, grows
/// by one a round trip and never beyond `most`. Without the bound it is sqrt(3 / 2 cuts) (Mathis et
/// al. 1997). One that reaches the bound stays there until 1 / cuts packets are sent: it has lost
/// most² / 8 of them on its way up.
pub(super) fn average_window(cuts: f64, most: f64) -> f64 {
    let way_up = 0.375 * most * most;
    if cuts * way_up < 1.0 { most / (1.0 + cuts * most * most / 8.0) } else { (1.5 / cuts).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::paths;

    fn close(loss: &LossShare, path: &PathView, share: f64) {
        assert!((loss.share(path) - share).abs() < 1e-9, "{}", loss.share(path));
    }

    /// The same, one round trip after the other.
    fn window_by_rounds(cuts: f64, most: f64) -> f64 {
        let (mut window, mut sent, mut total, mut rounds) = (most, 0.0, 0.0, 0.0);
        while rounds < 1e5 {
            (sent, total, rounds) = (sent + window, total + window, rounds + 1.0);
            window = if sent < 1.0 / cuts { most.min(window + 1.0) } else { window / 2.0 };
            sent %= 1.0 / cuts;
        }
        total / rounds
    }

    #[test]
    fn a_window_that_is_bounded_loses_what_it_lacks_on_the_way_up() {
        for (cuts, most) in [(0.001, 22.0), (0.0002, 22.0), (0.001, 45.0), (0.001, 100.0)] {
            let (window, rounds) = (average_window(cuts, most), window_by_rounds(cuts, most));
            assert!((window / rounds - 1.0).abs() < 0.03, "{cuts} {most}: {window} {rounds}");
        }
    }

    #[test]
    fn the_past_fades_with_chunks() {
        let mut path = paths(1).remove(0);
        let mut loss = LossShare::default();
        (path.data_chunks, path.lost_chunks) = (512, 64);
        close(&loss, &path, 64.0 / 544.0);
        loss.update(Time::ZERO, &path);
        // Half of them still count: 32 of 256, and 512 more without a loss.
        path.data_chunks = 1024;
        close(&loss, &path, 32.0 / 800.0);
    }

    #[test]
    fn a_cut_weighs_less_than_a_loss() {
        let mut path = paths(1).remove(0);
        let mut loss = LossShare::default();
        (path.data_chunks, path.lost_chunks) = (96, 2);
        path.cwnd = path.ssthresh;
        loss.cut(&path);
        close(&loss, &path, 2.0 / 128.0);
        assert!((loss.cut_share(&path) - 1.0 / 480.0).abs() < 1e-9, "{}", loss.cut_share(&path));
    }

    #[test]
    fn what_the_end_of_the_first_slow_start_loses_does_not_count() {
        let mut path = paths(1).remove(0);
        let mut loss = LossShare::default();
        let step = |loss: &mut LossShare, path: &mut PathView, lost, in_recovery| {
            (path.data_chunks, path.lost_chunks, path.in_recovery) = (100, lost, in_recovery);
            loss.update(Time::ZERO, path);
        };
        (path.cwnd, path.ssthresh) = (60_000, 1_000_000);
        loss.cut(&path);
        step(&mut loss, &mut path, 20, true);
        step(&mut loss, &mut path, 40, true);
        step(&mut loss, &mut path, 40, false);
        close(&loss, &path, 0.0);
        // The next one does, although it is slow start again.
        loss.cut(&path);
        step(&mut loss, &mut path, 45, true);
        close(&loss, &path, 5.0 / 132.0);
    }

    #[test]
    fn a_path_that_is_not_used_is_believed_in_again() {
        let mut path = paths(1).remove(0);
        let mut loss = LossShare::default();
        (path.data_chunks, path.lost_chunks) = (64, 8);
        loss.update(Time::from_millis(15_999), &path);
        close(&loss, &path, 8.0 / 96.0);
        for second in [16, 32, 48] {
            loss.update(Time::from_millis(1_000 * second), &path);
        }
        close(&loss, &path, 1.0 / 40.0);
    }
}
