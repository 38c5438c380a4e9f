//! What the coupled controllers have in common.

use polypath_proto::view::{AssocView, PathAdmin, PathState, PathView};

/// The paths that the sums run over: those that may carry data, and `path` itself. A failed path, or a backup that is
/// not called upon, must not keep a share of the growth.
pub(super) fn members<'a>(
    view: &AssocView<'a>,
    path: &PathView,
) -> impl Iterator<Item = &'a PathView> + use<'a> {
    let this = path.id;
    view.paths.iter().filter(move |p| {
        let reachable = matches!(p.state, PathState::Active | PathState::PotentiallyFailed);
        p.id == this || (reachable && (p.usable || p.admin == PathAdmin::Active))
    })
}

/// ceil(bytes x part / whole); all of `bytes` where the whole is nothing.
pub(super) fn share(bytes: u64, part: u128, whole: u128) -> u64 {
    if whole == 0 {
        return bytes;
    }
    let share = u128::from(bytes).saturating_mul(part).div_ceil(whole);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// An equal part of the initial window for each path, but at least one MTU.
pub(super) fn initial_window(single: u64, paths: usize, mtu: u64) -> u64 {
    (single / paths.max(1) as u64).max(mtu)
}
