//! `rp-v2`: CMT/RPv2, resource pooling by bandwidth estimates.

use polypath_proto::policy::{ClassicCc, CongestionControl, Cut, WindowRule};
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::couple::{self, Couple};
use super::coupled;
use crate::PolicyError;
use crate::entry::{PolicyEntry, Recipe};
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("rp-v2", configure)
    .summary("CMT/RPv2: growth and cuts shared by estimated bandwidth, cwnd over RTT")
    .source("Dreibholz et al., ConTEL 2011")
    .options(&[couple::ALWAYS]);

fn configure(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let couple = couple::choice(options)?;
    let rule = RpV2 { pooled: couple == Couple::Always };
    Ok(Box::new(move |cc, _| couple::grouped(couple, ClassicCc::new(rule, cc.clone()))))
}

/// CMT/RPv2. With b = cwnd/SRTT and B the sum of b, a path has the share b/B of all growth, and on a loss gives up
/// max(1/2, (B/2)/b) of its window.
#[derive(Clone, Copy, Debug)]
pub struct RpV2 {
    /// All paths divide one initial window.
    pub pooled: bool,
}

/// b in bytes per 1000 seconds; a path without an RTT sample has RTO.Initial. Whole numbers keep the ceilings exact.
fn bandwidth(view: &AssocView<'_>, path: &PathView) -> u128 {
    let rtt = path.srtt.unwrap_or(view.rto_initial).as_nanos().max(1);
    u128::from(path.cwnd) * 1_000_000_000_000 / rtt
}

/// B.
fn total(view: &AssocView<'_>, path: &PathView) -> u128 {
    coupled::members(view, path).map(|p| bandwidth(view, p)).sum()
}

fn share(view: &AssocView<'_>, path: &PathView, bytes: u64) -> u64 {
    coupled::share(bytes, bandwidth(view, path), total(view, path))
}

impl WindowRule for RpV2 {
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
        _floor_mtus: u64,
    ) -> Cut {
        // The floor is one MTU, however many RFC 9260 has: small paths must be able to yield to large ones.
        // B is at least b, so (B/2)/b is never below 1/2.
        let lost = coupled::share(path.cwnd, total(view, path), 2 * bandwidth(view, path));
        let left = path.cwnd.saturating_sub(lost);
        Cut::to(left.max(mtu), kind, mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{paths, view};
    use polypath_proto::time::Duration;
    use polypath_proto::view::PathState;

    const RULE: RpV2 = RpV2 { pooled: true };

    /// b = 30,000/0.1 = 300,000/s and 20,000/0.2 = 100,000/s: shares 3/4 and 1/4.
    fn two() -> Vec<PathView> {
        let mut p = paths(2);
        (p[0].cwnd, p[0].srtt) = (30_000, Some(Duration::from_millis(100)));
        (p[1].cwnd, p[1].srtt) = (20_000, Some(Duration::from_millis(200)));
        p
    }

    fn cut(p: &[PathView], i: usize, kind: LossKind) -> Cut {
        RULE.decrease(&view(p), &p[i], kind, 1500, 4)
    }

    #[test]
    fn growth_is_shared_by_bandwidth_and_rounded_up() {
        let p = two();
        assert_eq!(RULE.slow_start(&view(&p), &p[0], 1001, 1500), 751);
        assert_eq!(RULE.avoidance(&view(&p), &p[0], 1500), 1125);
        assert_eq!(RULE.avoidance(&view(&p), &p[1], 1501), 376);
    }

    #[test]
    fn a_loss_takes_half_of_the_total_bandwidth() {
        let mut p = two();
        // Path 0: max(1/2, (400/2)/300 = 2/3) of 30,000; path 1: 2 times its window.
        assert_eq!(cut(&p, 0, LossKind::FastRetransmit), Cut { cwnd: 10_000, ssthresh: 10_000 });
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
        assert_eq!(RULE.avoidance(&view(&p), &p[0], 1600), 1500);
        p[0].cwnd = 0;
        assert_eq!(cut(&p, 0, LossKind::FastRetransmit), Cut { cwnd: 1500, ssthresh: 1500 });
    }
}
