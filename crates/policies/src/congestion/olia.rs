//! `olia`: opportunistic linked increases.
//!
//! ℓ_r is the greater of the bytes acknowledged on path r between its last two losses and since the
//! last one. The *best* paths have the greatest ℓ²/rtt; the *collected* ones are best without
//! having the greatest window. With x = w/rtt and n paths, an acknowledged window (RFC 9260 section
//! 7.2.2) grows path r by
//!
//! ```text
//! MTU · ((x_r / Σx)² + a_r)
//! ```
//!
//! where
//!
//! - a_r = 1 / (n · |collected|) on collected paths,
//! - a_r = -1 / (n · |paths with the greatest window|) on those, while there are collected ones,
//! - a_r = 0 elsewhere and otherwise.
//!
//! The sum may be negative: the window then shrinks, down to one MTU, and ssthresh goes with it,
//! for below ssthresh the path would be back in slow start. Slow start and losses are those of RFC
//! 9260 on each path.
//!
//! The draft ranks by ℓ²/rtt, the authors' Linux implementation by ℓ/rtt², which the square root
//! law of throughput suggests: `best=kernel`.

use polypath_proto::PathId;
use polypath_proto::policy::{
    AckedInfo, CongestionControl, Cut, CwndStep, PathWindow, Rfc9260Rule, WindowRule,
};
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::per_path::PerPath;
use super::{coupled_increase, coupling_mode, hystart};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("olia", read_options)
    .summary("opportunistic linked increases: growth moves to good paths with small windows")
    .source("draft-khalili-mptcp-congestion-control-05; Khalili et al., CoNEXT 2012")
    .options(&[
        OptionEntry {
            name: "best",
            default: "draft",
            values: "draft|kernel",
            summary: "rank paths by the square of the bytes between losses over the RTT, or by the bytes over its square",
        },
        coupling_mode::ALWAYS,
        hystart::SWITCH,
        hystart::SAMPLES,
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let rank =
        options.choice("best", &[("draft", OliaRank::Draft), ("kernel", OliaRank::Kernel)])?;
    hystart::layered_recipe(Olia::new(rank), options)
}

/// Which paths are best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OliaRank {
    /// Those with the greatest ℓ²/rtt.
    #[default]
    Draft,
    /// Those with the greatest ℓ/rtt².
    Kernel,
}

/// Opportunistic linked increases.
#[derive(Clone, Debug, Default)]
pub struct Olia {
    rank: OliaRank,
    losses: PerPath<LossDistance>,
}

/// Bytes acknowledged around the losses of a path.
#[derive(Clone, Copy, Debug, Default)]
struct LossDistance {
    between_last_two: u64,
    since_last: u64,
}

impl Olia {
    /// No losses yet.
    pub const fn new(rank: OliaRank) -> Self {
        Self { rank, losses: PerPath::new() }
    }

    /// By what the best paths are found.
    fn rank_path(&self, view: &AssocView<'_>, path: &PathView) -> f64 {
        let of = |l: &LossDistance| l.between_last_two.max(l.since_last) as f64;
        let distance = self.losses.get(path.id).map_or(0.0, of);
        let rtt = coupled_increase::rtt_seconds(view, path);
        match self.rank {
            OliaRank::Draft => distance * distance / rtt,
            OliaRank::Kernel => distance / (rtt * rtt),
        }
    }

    /// a_r.
    fn growth_shift(&self, view: &AssocView<'_>, path: &PathView) -> f64 {
        let members = || coupled_increase::group_members(view, path);
        let best = coupled_increase::greatest_of(members().map(|p| self.rank_path(view, p)));
        let largest = coupled_increase::greatest_of(members().map(coupled_increase::window_bytes));
        // Exact comparisons: paths tie when they measured the same.
        let is_largest = |p: &PathView| coupled_increase::window_bytes(p) >= largest;
        let is_collected = |p: &PathView| !is_largest(p) && self.rank_path(view, p) >= best;
        let count = |p: &dyn Fn(&PathView) -> bool| members().filter(|m| p(m)).count() as f64;
        let (n, collected) = (members().count() as f64, count(&is_collected));
        if collected == 0.0 {
            0.0
        } else if is_collected(path) {
            1.0 / (n * collected)
        } else if is_largest(path) {
            -1.0 / (n * count(&is_largest))
        } else {
            0.0
        }
    }

    /// Growth per acknowledged window in MTUs; may be negative.
    fn growth_in_mtus(&self, view: &AssocView<'_>, path: &PathView) -> f64 {
        let share =
            coupled_increase::send_rate(view, path) / coupled_increase::total_rate(view, path);
        share * share + self.growth_shift(view, path)
    }
}

impl WindowRule for Olia {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn grow_in_avoidance(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        unit: CwndStep,
        w: &mut PathWindow,
    ) {
        if !w.full_window_acked(ev) {
            return;
        }
        let step = (unit.mtu as f64 * self.growth_in_mtus(view, path)).round() as i64;
        w.cwnd = w.cwnd.saturating_add_signed(step).max(unit.mtu);
        w.ssthresh = w.ssthresh.min(w.cwnd.saturating_sub(1));
    }

    fn path_added(&mut self, path: PathId) {
        let losses = self.losses.value_of(path);
        *losses = LossDistance::default();
    }

    fn observe_ack(
        &mut self,
        _view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        _w: &mut PathWindow,
    ) {
        let losses = self.losses.value_of(path.id);
        losses.since_last = losses.since_last.saturating_add(ev.bytes);
    }

    fn windows_after_loss(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        Rfc9260Rule.windows_after_loss(view, path, kind, mtu, floor_mtus)
    }

    fn on_lost(&mut self, _view: &AssocView<'_>, path: &PathView, _kind: LossKind, _cut: Cut) {
        // A second expiry without an acknowledgement in between is the same loss.
        let losses = self.losses.value_of(path.id);
        if losses.since_last > 0 {
            *losses = LossDistance { between_last_two: losses.since_last, since_last: 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{acked, measured, view};
    use proptest::prelude::*;

    /// Acknowledges `bytes` on path `i` outside of growth.
    fn count(olia: &mut Olia, p: &[PathView], i: usize, bytes: u64) {
        let ev = AckedInfo { may_grow: false, ..acked(p[i].id, bytes, bytes) };
        olia.observe_ack(&view(p), &p[i], &ev, &mut PathWindow::default());
    }

    fn lose(olia: &mut Olia, p: &[PathView], i: usize) {
        let cut = olia.windows_after_loss(&view(p), &p[i], LossKind::FastRetransmit, 1500, 4);
        olia.on_lost(&view(p), &p[i], LossKind::FastRetransmit, cut);
    }

    /// One fully acknowledged window on path `i`.
    fn window_acked(olia: &mut Olia, p: &[PathView], i: usize) -> PathWindow {
        let mut w = PathWindow::new(p[i].cwnd, 3000);
        let ev = acked(p[i].id, w.cwnd, w.cwnd);
        olia.grow_in_avoidance(&view(p), &p[i], &ev, CwndStep { mtu: 1500, limit: 1500 }, &mut w);
        w
    }

    #[test]
    fn without_collected_paths_growth_is_the_square_of_the_share_of_the_rate() {
        // x = 4e5 and 1e5: (4/5)² and (1/5)². The first path is best and has the greatest window.
        let p = measured(&[(40_000, 100), (20_000, 200)]);
        let mut olia = Olia::default();
        count(&mut olia, &p, 0, 1000);
        assert_eq!(window_acked(&mut olia, &p, 0).cwnd, 40_960);
        assert_eq!(window_acked(&mut olia, &p, 1).cwnd, 20_060);
    }

    #[test]
    fn growth_moves_to_the_collected_path() {
        // Equal RTTs, shares 3/4 and 1/4; the second path is best: a = +1/2 there and -1/2 on the
        // first.
        let p = measured(&[(30_000, 100), (10_000, 100)]);
        let mut olia = Olia::default();
        count(&mut olia, &p, 1, 1000);
        assert_eq!(window_acked(&mut olia, &p, 0).cwnd, 30_094, "1500 x (9/16 - 1/2) = 93.75");
        assert_eq!(window_acked(&mut olia, &p, 1).cwnd, 10_844, "1500 x (1/16 + 1/2) = 843.75");
    }

    #[test]
    fn a_window_can_shrink_and_stays_out_of_slow_start() {
        // x = 2e5 each of three on the first, 4e5 on the last two: the first has the greatest
        // window and a fifth of the rate.
        let p = measured(&[(60_000, 300), (40_000, 100), (40_000, 100)]);
        let mut olia = Olia::default();
        count(&mut olia, &p, 1, 1000);
        let mut w = PathWindow::new(60_000, 59_900);
        let ev = acked(p[0].id, 60_000, 60_000);
        olia.grow_in_avoidance(&view(&p), &p[0], &ev, CwndStep { mtu: 1500, limit: 1500 }, &mut w);
        // 1500 x (1/25 - 1/3) = -440.
        assert_eq!((w.cwnd, w.slow_start()), (59_560, false));
        let p = measured(&[(1500, 300), (1400, 1)]);
        count(&mut olia, &p, 1, 1000);
        assert_eq!(window_acked(&mut olia, &p, 0).cwnd, 1500, "one MTU remains");
    }

    #[test]
    fn the_longer_of_two_distances_counts() {
        let p = measured(&[(30_000, 100), (10_000, 100)]);
        let mut olia = Olia::default();
        count(&mut olia, &p, 0, 5000);
        count(&mut olia, &p, 1, 6000);
        lose(&mut olia, &p, 1);
        lose(&mut olia, &p, 1);
        count(&mut olia, &p, 1, 10);
        assert!(olia.growth_shift(&view(&p), &p[1]) > 0.0, "6000 between the last two");
        lose(&mut olia, &p, 1);
        assert_eq!(olia.growth_shift(&view(&p), &p[1]), 0.0, "10 between the last two");
    }

    #[test]
    fn the_two_readings_of_best_differ() {
        // ℓ = 4000 over 400 ms, 1000 over 100 ms. ℓ²/rtt: 4e7 and 1e7. ℓ/rtt²: 2.5e4 and 1e5.
        let p = measured(&[(30_000, 400), (10_000, 100)]);
        let shift = |rank| {
            let mut olia = Olia::new(rank);
            count(&mut olia, &p, 0, 4000);
            count(&mut olia, &p, 1, 1000);
            olia.growth_shift(&view(&p), &p[1])
        };
        assert_eq!([OliaRank::Draft, OliaRank::Kernel].map(shift), [0.0, 0.5]);
    }

    proptest! {
        /// The shifts sum to zero, a step is between -1 and +1.5 MTU, and a path alone is RFC 9260.
        #[test]
        fn what_some_paths_win_others_lose(
            shape in prop::collection::vec((1u64..1_000_000, 1u64..2000, 1u64..1_000_000), 1..6),
        ) {
            let windows: Vec<_> = shape.iter().map(|&(w, rtt, _)| (w, rtt)).collect();
            let p = measured(&windows);
            let mut olia = Olia::default();
            for (i, &(_, _, bytes)) in shape.iter().enumerate() {
                count(&mut olia, &p, i, bytes);
            }
            let sum: f64 = p.iter().map(|q| olia.growth_shift(&view(&p), q)).sum();
            prop_assert!(sum.abs() < 1e-9);
            for q in &p {
                prop_assert!((-1.0..=1.5).contains(&olia.growth_in_mtus(&view(&p), q)));
            }
            prop_assert_eq!(olia.growth_in_mtus(&view(&p[..1]), &p[0]), 1.0);
            for i in 0..p.len() {
                prop_assert!(window_acked(&mut olia, &p, i).cwnd >= 1500);
            }
        }
    }
}
