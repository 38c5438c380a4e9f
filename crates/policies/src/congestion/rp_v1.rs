//! `rp-v1`: CMT/RPv1, resource pooling by slow start thresholds.

use polypath_proto::policy::{ClassicCc, CongestionControl, Cut, WindowRule};
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::couple::{self, Couple};
use super::coupled;
use crate::PolicyError;
use crate::entry::{PolicyEntry, Recipe};
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("rp-v1", configure)
    .summary("CMT/RPv1: growth shared by slow start thresholds, cut by half of the sum of windows")
    .source("S3; Dreibholz et al., AINA 2010")
    .options(&[couple::ALWAYS]);

fn configure(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let couple = couple::choice(options)?;
    let rule = RpV1 { pooled: couple == Couple::Always };
    Ok(Box::new(move |cc, _| couple::grouped(couple, ClassicCc::new(rule, cc.clone()))))
}

/// CMT/RPv1. With S the sum of thresholds and C the sum of windows, a path has the share ssthresh/S of all growth, and
/// loses C/2 when it loses.
#[derive(Clone, Copy, Debug)]
pub struct RpV1 {
    /// All paths divide one initial window.
    pub pooled: bool,
}

/// ceil(bytes x ssthresh / S).
fn share(view: &AssocView<'_>, path: &PathView, bytes: u64) -> u64 {
    let sum = coupled::members(view, path).map(|p| u128::from(p.ssthresh)).sum();
    coupled::share(bytes, path.ssthresh.into(), sum)
}

impl WindowRule for RpV1 {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn initial_window(&self, single: u64, paths: usize, mtu: u64) -> u64 {
        coupled::initial_window(single, if self.pooled { paths } else { 1 }, mtu)
    }

    fn slow_start(&self, view: &AssocView<'_>, path: &PathView, acked: u64, limit: u64) -> u64 {
        share(view, path, acked.min(limit))
    }

    fn avoidance(&self, view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
        share(view, path, mtu)
    }

    fn decrease(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        let windows: u128 = coupled::members(view, path).map(|p| u128::from(p.cwnd)).sum();
        let half = u64::try_from(windows / 2).unwrap_or(u64::MAX);
        // cwnd - C/2 is negative on a small path: the floor then decides.
        let left = path.cwnd.saturating_sub(half);
        let floor = share(view, path, floor_mtus.saturating_mul(mtu)).max(mtu);
        Cut::to(left.max(floor), kind, mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{paths, view};
    use polypath_proto::view::PathState;

    const RULE: RpV1 = RpV1 { pooled: true };

    /// ssthresh 30,000 and 10,000; cwnd 40,000 and 8,000.
    fn two() -> Vec<PathView> {
        let mut p = paths(2);
        (p[0].ssthresh, p[0].cwnd) = (30_000, 40_000);
        (p[1].ssthresh, p[1].cwnd) = (10_000, 8_000);
        p
    }

    #[test]
    fn growth_is_shared_by_thresholds_and_rounded_up() {
        let p = two();
        assert_eq!(RULE.slow_start(&view(&p), &p[0], 1001, 1500), 751, "ceil(1001 x 3/4)");
        assert_eq!(RULE.slow_start(&view(&p), &p[0], 3000, 1500), 1125);
        assert_eq!(RULE.avoidance(&view(&p), &p[1], 1500), 375);
        assert_eq!(RULE.avoidance(&view(&p), &p[1], 1501), 376, "ceil(375.25)");
    }

    #[test]
    fn a_loss_takes_half_of_all_windows_down_to_the_floor() {
        let mut p = two();
        let cut = |p: &[PathView], i: usize, kind| RULE.decrease(&view(p), &p[i], kind, 1500, 4);
        // C/2 = 24,000; floors: max(4 x 1500 x 3/4, 1500) = 4500 and max(4 x 1500 x 1/4, 1500) = 1500.
        let fast = LossKind::FastRetransmit;
        assert_eq!(cut(&p, 0, fast), Cut { cwnd: 16_000, ssthresh: 16_000 });
        assert_eq!(cut(&p, 0, LossKind::Timeout), Cut { cwnd: 1500, ssthresh: 16_000 });
        assert_eq!(cut(&p, 1, fast), Cut { cwnd: 1500, ssthresh: 1500 }, "8000 - 24,000 < 0");
        p[0].cwnd = 9000;
        assert_eq!(cut(&p, 0, fast), Cut { cwnd: 4500, ssthresh: 4500 });
    }

    #[test]
    fn one_path_is_rfc_9260() {
        let mut p = two();
        p[1].state = PathState::Inactive;
        p[1].usable = false;
        assert_eq!(RULE.avoidance(&view(&p), &p[0], 1500), 1500);
        let cut = RULE.decrease(&view(&p), &p[0], LossKind::FastRetransmit, 1500, 4);
        assert_eq!(cut, Cut { cwnd: 20_000, ssthresh: 20_000 });
    }

    #[test]
    fn the_initial_window_is_divided() {
        assert_eq!(RULE.initial_window(4404, 2, 1468), 2202);
        assert_eq!(RULE.initial_window(4404, 4, 1468), 1468);
    }
}
