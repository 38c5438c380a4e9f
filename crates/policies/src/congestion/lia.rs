//! `lia`: linked increases.
//!
//! With w the windows, C their sum, and α = C · max(w/rtt²) / (Σ w/rtt)², RFC 6356 grows path p in
//! congestion avoidance, per acknowledgement, by
//!
//! ```text
//! min(α · acked · MTU / C, acked · MTU / w_p)
//! ```
//!
//! Per acknowledged window, SCTP's way of counting (RFC 9260 section 7.2.2), that is
//!
//! ```text
//! MTU · min(1, w_p · max(w/rtt²) / (Σ w/rtt)²)
//! ```
//!
//! and at least one byte. Slow start and losses are those of RFC 9260 on each path.

use polypath_proto::policy::{CongestionControl, Cut, Rfc9260Rule, WindowRule};
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::{coupled_increase, coupling_mode, hystart};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("lia", read_options)
    .summary("linked increases: together no faster than one flow on the best path")
    .source("RFC 6356")
    .options(&[coupling_mode::ALWAYS, hystart::SWITCH, hystart::SAMPLES]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    hystart::layered_recipe(Lia, options)
}

/// Linked increases (RFC 6356).
#[derive(Clone, Copy, Debug, Default)]
pub struct Lia;

/// The growth of `path` as a part of what RFC 9260 would grow by.
pub(super) fn growth_part(view: &AssocView<'_>, path: &PathView) -> f64 {
    let best =
        coupled_increase::greatest_of(coupled_increase::group_members(view, path).map(|p| {
            coupled_increase::send_rate(view, p) / coupled_increase::rtt_seconds(view, p)
        }));
    let total = coupled_increase::total_rate(view, path);
    (coupled_increase::window_bytes(path) * best / (total * total)).min(1.0)
}

impl WindowRule for Lia {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn avoidance_growth(&self, view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
        coupled_increase::part_of(mtu, growth_part(view, path))
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{measured, paths, view};
    use polypath_proto::view::PathState;
    use proptest::prelude::*;

    #[test]
    fn equal_paths_share_one_mtu_of_growth() {
        // w/rtt² = 3e6 each; Σ w/rtt = 6e5: 30,000 x 3e6 / 3.6e11 = 1/4 for each, half an MTU for
        // both.
        let p = measured(&[(30_000, 100), (30_000, 100)]);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[0], 1500), 375);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[1], 1500), 375);
    }

    #[test]
    fn the_larger_window_grows_faster() {
        // w/rtt: 4e5 and 5e4; w/rtt²: 4e6 and 2.5e5; 4e6 / 4.5e5² = 1.97531e-5: 0.790123 and
        // 0.197531.
        let p = measured(&[(40_000, 100), (10_000, 200)]);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[0], 1500), 1185);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[1], 1500), 296);
    }

    #[test]
    fn no_path_is_faster_than_rfc_9260() {
        // A long path with a large window: 200,000 x 1e6 / 3e5² = 2.2 without the minimum.
        let p = measured(&[(10_000, 100), (200_000, 1000)]);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[1], 1500), 1500);
    }

    #[test]
    fn a_path_alone_is_rfc_9260() {
        let mut p = measured(&[(40_000, 100), (10_000, 200)]);
        (p[1].state, p[1].usable) = (PathState::Inactive, false);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[0], 1500), 1500);
        let cut = Lia.windows_after_loss(&view(&p), &p[0], LossKind::FastRetransmit, 1500, 4);
        assert_eq!(cut, Cut { cwnd: 20_000, ssthresh: 20_000 });
    }

    #[test]
    fn growth_is_a_byte_at_least_and_an_unmeasured_path_has_rto_initial() {
        let p = measured(&[(1 << 40, 1), (1500, 5000)]);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[1], 1500), 1);
        let mut p = paths(2);
        (p[0].cwnd, p[1].cwnd) = (30_000, 30_000);
        assert_eq!(Lia.avoidance_growth(&view(&p), &p[0], 1500), 375, "both have one second");
    }

    proptest! {
        /// RFC 6356 section 3: the sum of Δ/rtt is at most that of one flow on the path with the
        /// greatest w/rtt².
        #[test]
        fn together_no_faster_than_one_flow_on_the_best_path(
            shape in prop::collection::vec((3000u64..2_000_000, 1u64..2000), 1..6),
        ) {
            let p = measured(&shape);
            let v = view(&p);
            let speed = |i: usize| Lia.avoidance_growth(&v, &p[i], 1500) as f64 / coupled_increase::rtt_seconds(&v, &p[i]);
            let all: f64 = (0..p.len()).map(speed).sum();
            let best = p.iter().max_by(|a, b| {
                let of = |p| coupled_increase::send_rate(&v, p) / coupled_increase::rtt_seconds(&v, p);
                of(a).total_cmp(&of(b))
            });
            let rtt = coupled_increase::rtt_seconds(&v, best.expect("there is a path"));
            // Each path may be rounded up by a byte.
            let slack: f64 = p.iter().map(|p| 1.0 / coupled_increase::rtt_seconds(&v, p)).sum();
            prop_assert!(all <= 1500.0 / rtt + slack, "{all} above {}", 1500.0 / rtt);
        }
    }
}
