//! Paths in turn.

use polypath_proto::PathId;
use polypath_proto::view::{AssocView, PathView};

/// All paths, beginning with the one after `last` and wrapping around.
pub(crate) fn paths_after<'a>(
    view: &AssocView<'a>,
    last: Option<PathId>,
) -> impl Iterator<Item = &'a PathView> + use<'a> {
    let start = last.map_or(0, |last| last.index() + 1).min(view.paths.len());
    let (before, after) = view.paths.split_at(start);
    after.iter().chain(before)
}
