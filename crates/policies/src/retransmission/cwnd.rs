//! `cwnd`: RTX-CWND.

use polypath_proto::policy::{Policy, RetransmissionPolicy, RtxPick};
use polypath_proto::rng::Rng;
use polypath_proto::view::{AssocView, RtxMeta};

use super::tie_break;
use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::retransmission("cwnd", |_| {
    Ok(Box::new(|_, rng| Box::new(RtxCwnd::new(rng.clone()))))
})
.summary("the path with the largest congestion window; ties at random")
.source("S1 section III, RTX-CWND");

/// RTX-CWND.
#[derive(Clone, Debug)]
pub struct RtxCwnd {
    rng: Rng,
}

impl RtxCwnd {
    /// A policy that breaks ties by `rng`.
    pub const fn new(rng: Rng) -> Self {
        Self { rng }
    }
}

impl Policy for RtxCwnd {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl RetransmissionPolicy for RtxCwnd {
    fn pick_path(&mut self, view: &AssocView<'_>, _chunk: &RtxMeta) -> RtxPick {
        tie_break::best_at_random(&mut self.rng, view.usable(), |a, b| a.cwnd.cmp(&b.cwnd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{lost_on, paths, view};

    #[test]
    fn the_largest_among_the_usable_even_when_its_window_is_full() {
        let mut p = paths(3);
        (p[0].cwnd, p[1].cwnd, p[2].cwnd) = (3000, 9000, 6000);
        p[1].outstanding = 10_000;
        let mut policy = RtxCwnd::new(Rng::from_u64(1));
        assert_eq!(policy.pick_path(&view(&p), &lost_on(0)), RtxPick::Use(p[1].id));
        p[1].usable = false;
        assert_eq!(policy.pick_path(&view(&p), &lost_on(0)), RtxPick::Use(p[2].id));
    }
}
