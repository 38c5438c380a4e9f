//! `asap`: RTX-ASAP.

use core::cmp::Ordering;

use polypath_proto::policy::{Policy, RetransmissionPolicy, RtxPick};
use polypath_proto::rng::Rng;
use polypath_proto::view::{AssocView, RtxMeta};

use super::tie_break;
use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::retransmission("asap", |_| {
    Ok(Box::new(|_, rng| Box::new(RtxAsap::new(rng.clone()))))
})
.summary("any path that has room in its window now; one of them at random")
.source("S1 section III, RTX-ASAP");

/// RTX-ASAP.
#[derive(Clone, Debug)]
pub struct RtxAsap {
    rng: Rng,
}

impl RtxAsap {
    /// A policy that chooses by `rng`.
    pub const fn new(rng: Rng) -> Self {
        Self { rng }
    }
}

impl Policy for RtxAsap {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl RetransmissionPolicy for RtxAsap {
    fn pick_path(&mut self, view: &AssocView<'_>, chunk: &RtxMeta) -> RtxPick {
        let open = view.usable().filter(|p| p.has_room());
        match tie_break::best_at_random(&mut self.rng, open, |_, _| Ordering::Equal) {
            // The one packet that may ignore cwnd after a loss (RFC 9260 7.2.4) belongs to the path
            // of the loss.
            RtxPick::Wait => {
                let lossy = view.path(chunk.last).filter(|p| p.usable);
                lossy.map_or(RtxPick::Wait, |p| RtxPick::Use(p.id))
            }
            pick => pick,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{lost_on, paths, view};

    #[test]
    fn only_paths_with_room() {
        let mut p = paths(3);
        p[0].outstanding = p[0].cwnd;
        p[2].usable = false;
        let mut asap = RtxAsap::new(Rng::from_u64(1));
        assert!((0..50).all(|_| asap.pick_path(&view(&p), &lost_on(0)) == RtxPick::Use(p[1].id)));
        p[1].outstanding = p[1].cwnd;
        assert_eq!(
            asap.pick_path(&view(&p), &lost_on(0)),
            RtxPick::Use(p[0].id),
            "if it may at all"
        );
        assert_eq!(asap.pick_path(&view(&p), &lost_on(2)), RtxPick::Wait);
    }
}
