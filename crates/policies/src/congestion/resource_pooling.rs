//! `rp-v1` and `rp-v2`: CMT/RP, resource pooling over the congestion windows of all paths.
//!
//! Both versions give a path a share of all growth and cut it by half of what all paths have. They
//! differ in what is shared out: version 1 counts slow start thresholds and windows, version 2
//! estimated bandwidth, which is the window over the smoothed RTT.

use polypath_proto::policy::{ClassicCc, CongestionControl, Cut, WindowRule};
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::coupled_increase;
use super::coupling_mode::{self, CouplingMode};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::options::Options;

pub(crate) const ENTRY_V1: PolicyEntry =
    PolicyEntry::congestion("rp-v1", |options| read_options(options, PoolingVersion::V1))
        .summary(
            "CMT/RPv1: growth shared by slow start thresholds, cut by half of the sum of windows",
        )
        .source("S3; Dreibholz et al., AINA 2010")
        .options(&[coupling_mode::ALWAYS]);

pub(crate) const ENTRY_V2: PolicyEntry =
    PolicyEntry::congestion("rp-v2", |options| read_options(options, PoolingVersion::V2))
        .summary("CMT/RPv2: growth and cuts shared by estimated bandwidth, cwnd over RTT")
        .source("Dreibholz et al., ConTEL 2011")
        .options(&[coupling_mode::ALWAYS]);

fn read_options(
    options: &Options<'_>,
    version: PoolingVersion,
) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let mode = coupling_mode::read_mode(options)?;
    let rule = ResourcePooling { version, pooled: mode == CouplingMode::Always };
    Ok(Box::new(move |cc, _| coupling_mode::with_groups(mode, ClassicCc::new(rule, cc.clone()))))
}

/// What the paths of a group share out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolingVersion {
    /// CMT/RPv1. With S the sum of thresholds and C the sum of windows, a path has the share
    /// ssthresh/S of all growth, and loses C/2 when it loses.
    V1,
    /// CMT/RPv2. With b = cwnd/SRTT and B the sum of b, a path has the share b/B of all growth, and
    /// on a loss gives up max(1/2, (B/2)/b) of its window.
    V2,
}

/// Resource pooling.
#[derive(Clone, Copy, Debug)]
pub struct ResourcePooling {
    /// What is shared out.
    pub version: PoolingVersion,
    /// All paths divide one initial window.
    pub pooled: bool,
}

impl ResourcePooling {
    /// What of a path counts for its share of growth: its threshold, or its bandwidth.
    fn share_weight(self, view: &AssocView<'_>, path: &PathView) -> u128 {
        match self.version {
            PoolingVersion::V1 => path.ssthresh.into(),
            PoolingVersion::V2 => estimate_bandwidth(view, path),
        }
    }

    /// The share of `path` in `bytes`, rounded up.
    fn share_growth(self, view: &AssocView<'_>, path: &PathView, bytes: u64) -> u64 {
        let members = coupled_increase::group_members(view, path);
        let total = members.map(|p| self.share_weight(view, p)).sum();
        coupled_increase::round_up_share(bytes, self.share_weight(view, path), total)
    }

    /// ssthresh after a loss: the window without half of all windows. That is negative on a small
    /// path, where the floor, shared out as growth is, then decides.
    fn cut_by_windows(self, view: &AssocView<'_>, path: &PathView, mtu: u64, floor: u64) -> u64 {
        let members = coupled_increase::group_members(view, path);
        let windows: u128 = members.map(|p| u128::from(p.cwnd)).sum();
        let half = u64::try_from(windows / 2).unwrap_or(u64::MAX);
        path.cwnd.saturating_sub(half).max(self.share_growth(view, path, floor).max(mtu))
    }
}

/// b in bytes per 1000 seconds; a path without an RTT sample has RTO.Initial. Whole numbers keep
/// the ceilings exact.
fn estimate_bandwidth(view: &AssocView<'_>, path: &PathView) -> u128 {
    let rtt = path.srtt.unwrap_or(view.rto_initial).as_nanos().max(1);
    u128::from(path.cwnd) * 1_000_000_000_000 / rtt
}

/// ssthresh after a loss in version 2. Small paths must be able to yield to large ones, so the
/// floor is one MTU, however many RFC 9260 has. B is at least b, so (B/2)/b is never below 1/2.
fn cut_by_bandwidth(view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
    let own = estimate_bandwidth(view, path);
    let members = coupled_increase::group_members(view, path);
    let total = members.map(|p| estimate_bandwidth(view, p)).sum();
    let lost = coupled_increase::round_up_share(path.cwnd, total, 2 * own);
    path.cwnd.saturating_sub(lost).max(mtu)
}

impl WindowRule for ResourcePooling {
    fn name(&self) -> &'static str {
        match self.version {
            PoolingVersion::V1 => ENTRY_V1.name,
            PoolingVersion::V2 => ENTRY_V2.name,
        }
    }

    fn initial_window(&self, single: u64, paths: usize, mtu: u64) -> u64 {
        coupled_increase::divide_initial_window(single, if self.pooled { paths } else { 1 }, mtu)
    }

    fn slow_start(&self, view: &AssocView<'_>, path: &PathView, acked: u64, limit: u64) -> u64 {
        self.share_growth(view, path, acked.min(limit))
    }

    fn avoidance_growth(&self, view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
        self.share_growth(view, path, mtu)
    }

    fn windows_after_loss(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        let floor = floor_mtus.saturating_mul(mtu);
        let ssthresh = match self.version {
            PoolingVersion::V1 => self.cut_by_windows(view, path, mtu, floor),
            PoolingVersion::V2 => cut_by_bandwidth(view, path, mtu),
        };
        Cut::to(ssthresh, kind, mtu)
    }
}

#[cfg(test)]
mod tests {
    mod v1 {

        use super::super::*;
        use crate::test_views::{paths, view};
        use polypath_proto::view::PathState;

        const RULE: ResourcePooling = ResourcePooling { version: PoolingVersion::V1, pooled: true };

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
            assert_eq!(RULE.avoidance_growth(&view(&p), &p[1], 1500), 375);
            assert_eq!(RULE.avoidance_growth(&view(&p), &p[1], 1501), 376, "ceil(375.25)");
        }

        #[test]
        fn a_loss_takes_half_of_all_windows_down_to_the_floor() {
            let mut p = two();
            let cut = |p: &[PathView], i: usize, kind| {
                RULE.windows_after_loss(&view(p), &p[i], kind, 1500, 4)
            };
            // C/2 = 24,000; floors: max(4 x 1500 x 3/4, 1500) = 4500 and max(4 x 1500 x 1/4, 1500)
            // = 1500.
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
            assert_eq!(RULE.avoidance_growth(&view(&p), &p[0], 1500), 1500);
            let cut = RULE.windows_after_loss(&view(&p), &p[0], LossKind::FastRetransmit, 1500, 4);
            assert_eq!(cut, Cut { cwnd: 20_000, ssthresh: 20_000 });
        }

        #[test]
        fn the_initial_window_is_divided() {
            assert_eq!(RULE.initial_window(4404, 2, 1468), 2202);
            assert_eq!(RULE.initial_window(4404, 4, 1468), 1468);
        }
    }

    mod v2 {
        use super::super::*;
        use crate::test_views::{paths, view};
        use polypath_proto::time::Duration;
        use polypath_proto::view::PathState;

        const RULE: ResourcePooling = ResourcePooling { version: PoolingVersion::V2, pooled: true };

        /// b = 30,000/0.1 = 300,000/s and 20,000/0.2 = 100,000/s: shares 3/4 and 1/4.
        fn two() -> Vec<PathView> {
            let mut p = paths(2);
            (p[0].cwnd, p[0].srtt) = (30_000, Some(Duration::from_millis(100)));
            (p[1].cwnd, p[1].srtt) = (20_000, Some(Duration::from_millis(200)));
            p
        }

        fn cut(p: &[PathView], i: usize, kind: LossKind) -> Cut {
            RULE.windows_after_loss(&view(p), &p[i], kind, 1500, 4)
        }

        #[test]
        fn growth_is_shared_by_bandwidth_and_rounded_up() {
            let p = two();
            assert_eq!(RULE.slow_start(&view(&p), &p[0], 1001, 1500), 751);
            assert_eq!(RULE.avoidance_growth(&view(&p), &p[0], 1500), 1125);
            assert_eq!(RULE.avoidance_growth(&view(&p), &p[1], 1501), 376);
        }

        #[test]
        fn a_loss_takes_half_of_the_total_bandwidth() {
            let mut p = two();
            // Path 0: max(1/2, (400/2)/300 = 2/3) of 30,000; path 1: 2 times its window.
            assert_eq!(
                cut(&p, 0, LossKind::FastRetransmit),
                Cut { cwnd: 10_000, ssthresh: 10_000 }
            );
            assert_eq!(cut(&p, 0, LossKind::Timeout), Cut { cwnd: 1500, ssthresh: 10_000 });
            assert_eq!(cut(&p, 1, LossKind::FastRetransmit), Cut { cwnd: 1500, ssthresh: 1500 });
            (p[1].state, p[1].usable) = (PathState::Inactive, false);
            assert_eq!(cut(&p, 0, LossKind::FastRetransmit).cwnd, 15_000, "alone: RFC 9260");
        }

        #[test]
        fn an_unmeasured_path_has_rto_initial() {
            let mut p = two();
            p[1].srtt = None;
            // 20,000 per second: share 300/320.
            assert_eq!(RULE.avoidance_growth(&view(&p), &p[0], 1600), 1500);
            p[0].cwnd = 0;
            assert_eq!(cut(&p, 0, LossKind::FastRetransmit), Cut { cwnd: 1500, ssthresh: 1500 });
        }
    }
}
