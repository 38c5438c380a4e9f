//! `same`: RTX-SAME.

use polypath_proto::policy::{Policy, RetransmissionPolicy, RtxPick};
use polypath_proto::view::{AssocView, RtxMeta};

use crate::entry::PolicyEntry;
use crate::path_order::paths_after;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::retransmission("same", |_| Ok(Box::new(|_, _| Box::new(RtxSame))))
        .summary("the path of the last transmission, until it fails; then the next in the list")
        .source("S1 section III, RTX-SAME");

/// RTX-SAME.
#[derive(Clone, Copy, Debug, Default)]
pub struct RtxSame;

impl Policy for RtxSame {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl RetransmissionPolicy for RtxSame {
    fn pick_path(&mut self, view: &AssocView<'_>, chunk: &RtxMeta) -> RtxPick {
        let same = view.path(chunk.last).into_iter();
        let choice = same.chain(paths_after(view, Some(chunk.last))).find(|p| p.usable);
        choice.map_or(RtxPick::Wait, |p| RtxPick::Use(p.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{lost_on, paths, view};
    use polypath_proto::PathId;

    #[test]
    fn same_until_it_fails_then_next_in_the_list() {
        let mut p = paths(3);
        assert_eq!(RtxSame.pick_path(&view(&p), &lost_on(1)), RtxPick::Use(PathId(1)));
        p[1].usable = false;
        assert_eq!(RtxSame.pick_path(&view(&p), &lost_on(1)), RtxPick::Use(PathId(2)));
        p[2].usable = false;
        assert_eq!(RtxSame.pick_path(&view(&p), &lost_on(1)), RtxPick::Use(PathId(0)));
        p[0].usable = false;
        assert_eq!(RtxSame.pick_path(&view(&p), &lost_on(1)), RtxPick::Wait);
    }
}
