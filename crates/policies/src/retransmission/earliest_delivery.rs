//! `earliest-delivery`: where the chunk is likely to arrive first.

use polypath_proto::policy::{Policy, RetransmissionPolicy, RtxPick};
use polypath_proto::view::{AssocView, PathView, RtxMeta};

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::retransmission("earliest-delivery", |_| {
    Ok(Box::new(|_, _| Box::new(EarliestDelivery)))
})
.summary("the path on which it arrives first, losses and full windows counted in")
.source("this project; docs/knapsack.md");

/// Half a round trip away, and one and a half more when it is lost again: to notice it, and the
/// next try. What is in flight beyond the window has to be acknowledged first.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarliestDelivery;

fn expected_arrival(view: &AssocView<'_>, path: &PathView) -> f64 {
    let lost = path.lost_chunks as f64 / path.data_chunks.max(1) as f64;
    let excess = path.outstanding.saturating_sub(path.cwnd) as f64;
    let wait = excess / path.outstanding.max(1) as f64;
    path.srtt_or(view.rto_initial) * (0.5 + 1.5 * lost + wait)
}

impl Policy for EarliestDelivery {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl RetransmissionPolicy for EarliestDelivery {
    fn pick_path(&mut self, view: &AssocView<'_>, _chunk: &RtxMeta) -> RtxPick {
        let sooner = |a: &&PathView, b: &&PathView| {
            expected_arrival(view, a).total_cmp(&expected_arrival(view, b))
        };
        view.usable().min_by(sooner).map_or(RtxPick::Wait, |path| RtxPick::Use(path.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{lost_on, paths, view};
    use polypath_proto::PathId;
    use polypath_proto::time::Duration;

    fn pick(p: &[PathView]) -> RtxPick {
        EarliestDelivery.pick_path(&view(p), &lost_on(0))
    }

    #[test]
    fn losses_and_full_windows_count() {
        let mut p = paths(2);
        for (path, ms) in p.iter_mut().zip([50, 60]) {
            path.srtt = Some(Duration::from_millis(ms));
            (path.cwnd, path.outstanding, path.data_chunks) = (10_000, 0, 100);
        }
        assert_eq!(pick(&p), RtxPick::Use(PathId(0)));
        // 10 % lost: 50 ms * 0.65 = 32.5 ms, the other one 30.
        p[0].lost_chunks = 10;
        assert_eq!(pick(&p), RtxPick::Use(PathId(1)));
        // A fifth of what is in flight does not fit: 60 ms * 0.7 = 42.
        p[1].outstanding = 12_500;
        assert_eq!(pick(&p), RtxPick::Use(PathId(0)));
        p[0].usable = false;
        assert_eq!(pick(&p), RtxPick::Use(PathId(1)));
    }
}
