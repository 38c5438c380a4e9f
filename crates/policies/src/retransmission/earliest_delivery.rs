//! `earliest-delivery`: where the chunk is likely to arrive first.

use polypath_proto::policy::{Policy, RetransmissionPolicy, RtxPick};
use polypath_proto::time::Duration;
use polypath_proto::view::{AssocView, PathView, RtxMeta};

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::retransmission("earliest-delivery", |_| {
    Ok(Box::new(|_, _| Box::new(EarliestDelivery)))
})
.summary("the path on which it arrives first, losses and full windows counted in")
.source("this project; docs/explanation/knapsack.md");

/// Half a round trip away, and one and a half more when it is lost again: to notice it, and the
/// next try. What is in flight beyond the window has to be acknowledged first.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarliestDelivery;

///
/// A path scheduler may know that a path is thin or has a queue. It tells when the packet will be
/// acknowledged, which is later on all paths alike: SACKs take the nearest way back.
fn expected_arrival(view: &AssocView<'_>, path: &PathView, trip: Option<Duration>) -> f64 {
    let lost = path.lost_chunks as f64 / path.data_chunks.max(1) as f64;
    let excess = path.outstanding.saturating_sub(path.cwnd) as f64;
    let wait = excess / path.outstanding.max(1) as f64;
    let srtt = path.srtt_or(view.rto_initial);
    trip.map_or(0.5 * srtt, |trip| trip.as_secs_f64()) + srtt * (1.5 * lost + wait)
}

impl Policy for EarliestDelivery {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl RetransmissionPolicy for EarliestDelivery {
    fn pick_path(&mut self, view: &AssocView<'_>, chunk: &RtxMeta) -> RtxPick {
        self.pick_path_by_trips(view, chunk, &|_| None)
    }

    fn pick_path_by_trips(
        &mut self,
        view: &AssocView<'_>,
        _chunk: &RtxMeta,
        trip: &dyn Fn(&PathView) -> Option<Duration>,
    ) -> RtxPick {
        let arrival = |path: &PathView| expected_arrival(view, path, trip(path));
        let sooner = |a: &&PathView, b: &&PathView| arrival(a).total_cmp(&arrival(b));
        view.usable().min_by(sooner).map_or(RtxPick::Wait, |path| RtxPick::Use(path.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{lost_on, paths, view};
    use polypath_proto::PathId;

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

    #[test]
    fn a_near_path_that_is_thin_gets_no_retransmission() {
        let mut p = paths(2);
        for (path, ms) in p.iter_mut().zip([2, 60]) {
            path.srtt = Some(Duration::from_millis(ms));
        }
        // 1500 bytes at 100 kbit/s.
        let trip = |path: &PathView| Some(Duration::from_millis([122, 61][path.id.index()]));
        let pick = EarliestDelivery.pick_path_by_trips(&view(&p), &lost_on(0), &trip);
        assert_eq!(pick, RtxPick::Use(PathId(1)));
    }
}
