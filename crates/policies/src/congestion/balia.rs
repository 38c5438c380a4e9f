//! `balia`: balanced linked adaptation.
//!
//! With x_r = w_r / rtt_r and α_r = max x / x_r, an acknowledgement grows w_r, in packets, by
//!
//! ```text
//! x_r / (rtt_r (Σx)²) · (1 + α_r)/2 · (4 + α_r)/5
//! ```
//!
//! Per acknowledged window (RFC 9260 section 7.2.2) that is never more than one MTU:
//!
//! ```text
//! MTU · (x_r + max x)(4 x_r + max x) / (10 (Σx)²)
//! ```
//!
//! A loss costs w_r/2 · min(α_r, 1.5): paths that carry little yield three quarters. The smallest
//! ssthresh is RFC 9260's, so that a path alone behaves as RFC 9260 says; the Linux implementation
//! stops at one MSS. Slow start is that of RFC 9260 on each path.
//!
//! As the coupled form of `rfc9260`, whose groups were found to share a bottleneck, the members
//! divide the smallest ssthresh: in a pipe of two dozen packets a group would else never yield to a
//! single flow what it takes beyond its half.

use polypath_proto::policy::{CongestionControl, Cut, WindowRule};
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::{coupled_increase, coupling_mode, hystart};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("balia", read_options)
    .summary("balanced linked adaptation: small paths grow more than with lia and yield more")
    .source("draft-walid-mptcp-congestion-control-04; Peng et al., IEEE/ACM ToN 2016")
    .options(&[coupling_mode::ALWAYS, hystart::SWITCH, hystart::SAMPLES]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    hystart::layered_recipe(Balia::default(), options)
}

/// Balanced linked adaptation.
#[derive(Clone, Copy, Debug)]
pub struct Balia {
    name: &'static str,
    /// The members of a group divide the smallest ssthresh among them.
    divides_floor: bool,
}

impl Default for Balia {
    fn default() -> Self {
        Self { name: ENTRY.name, divides_floor: false }
    }
}

impl Balia {
    /// The coupled form of the control with this name.
    pub(super) const fn for_coupled_paths(name: &'static str) -> Self {
        Self { name, divides_floor: true }
    }
}

/// max x over all members.
fn fastest_rate(view: &AssocView<'_>, path: &PathView) -> f64 {
    coupled_increase::greatest_of(
        coupled_increase::group_members(view, path).map(|p| coupled_increase::send_rate(view, p)),
    )
}

impl WindowRule for Balia {
    fn name(&self) -> &'static str {
        self.name
    }

    fn avoidance_growth(&self, view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
        let (x, max) = (coupled_increase::send_rate(view, path), fastest_rate(view, path));
        let total = coupled_increase::total_rate(view, path);
        coupled_increase::part_of(mtu, (x + max) * (4.0 * x + max) / (10.0 * total * total))
    }

    fn windows_after_loss(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        let alpha = fastest_rate(view, path) / coupled_increase::send_rate(view, path);
        let left = path.cwnd as f64 * (1.0 - alpha.min(1.5) / 2.0);
        let members = match self.divides_floor {
            true => coupled_increase::group_members(view, path).count().max(1) as u64,
            false => 1,
        };
        Cut::to((left.round() as u64).max((floor_mtus * mtu / members).max(mtu)), kind, mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{measured, view};
    use polypath_proto::view::PathState;
    use proptest::prelude::*;

    fn cut(p: &[PathView], i: usize, kind: LossKind) -> Cut {
        Balia::default().windows_after_loss(&view(p), &p[i], kind, 1500, 4)
    }

    #[test]
    fn growth_by_hand() {
        // x = 4e5 and 1e5, Σ = 5e5: (8e5 x 20e5) / (10 x 25e10) = 0.64; (5e5 x 8e5) / (25e11) =
        // 0.16.
        let p = measured(&[(40_000, 100), (20_000, 200)]);
        assert_eq!(Balia::default().avoidance_growth(&view(&p), &p[0], 1500), 960);
        assert_eq!(Balia::default().avoidance_growth(&view(&p), &p[1], 1500), 240);
        // Equal: (2 x 5) / (10 x 4) = 1/4.
        let p = measured(&[(30_000, 50), (30_000, 50)]);
        assert_eq!(Balia::default().avoidance_growth(&view(&p), &p[0], 1500), 375);
    }

    #[test]
    fn the_fastest_path_loses_half_and_others_up_to_three_quarters() {
        let p = measured(&[(40_000, 100), (40_000, 200), (60_000, 180)]);
        let fast = LossKind::FastRetransmit;
        // x = 4e5, 2e5, 3.33e5: α = 1, 2, 1.2.
        assert_eq!(cut(&p, 0, fast), Cut { cwnd: 20_000, ssthresh: 20_000 });
        assert_eq!(cut(&p, 1, fast), Cut { cwnd: 10_000, ssthresh: 10_000 });
        assert_eq!(cut(&p, 2, fast), Cut { cwnd: 24_000, ssthresh: 24_000 });
        assert_eq!(cut(&p, 2, LossKind::Timeout), Cut { cwnd: 1500, ssthresh: 24_000 });
    }

    #[test]
    fn a_path_alone_is_rfc_9260() {
        let mut p = measured(&[(40_000, 100), (90_000, 100)]);
        (p[1].state, p[1].usable) = (PathState::Inactive, false);
        assert_eq!(Balia::default().avoidance_growth(&view(&p), &p[0], 1500), 1500);
        assert_eq!(cut(&p, 0, LossKind::FastRetransmit).cwnd, 20_000);
        p[0].cwnd = 7000;
        assert_eq!(cut(&p, 0, LossKind::FastRetransmit).cwnd, 6000, "four MTUs");
    }

    #[test]
    fn the_coupled_form_of_rfc_9260_divides_the_smallest_window() {
        let cut = |paths: usize| {
            let p = measured(&vec![(5000, 100); paths]);
            let fast = LossKind::FastRetransmit;
            Balia::for_coupled_paths("rfc9260")
                .windows_after_loss(&view(&p), &p[0], fast, 1500, 4)
                .cwnd
        };
        assert_eq!([1, 2, 8].map(cut), [6000, 3000, 2500], "MTUs: four, two; half of the window");
    }

    proptest! {
        #[test]
        fn between_a_byte_and_an_mtu_and_never_below_the_floor(
            shape in prop::collection::vec((1u64..1 << 40, 1u64..100_000), 1..6),
        ) {
            let p = measured(&shape);
            for i in 0..p.len() {
                let growth = Balia::default().avoidance_growth(&view(&p), &p[i], 1500);
                prop_assert!((1..=1500).contains(&growth), "{growth}");
                let cut = cut(&p, i, LossKind::FastRetransmit);
                prop_assert!(cut.cwnd >= 6000 && cut.cwnd <= (p[i].cwnd / 2 + 1).max(6000));
            }
        }
    }
}
