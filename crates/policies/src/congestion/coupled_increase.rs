//! What the coupled controllers have in common.

use polypath_proto::view::{AssocView, PathAdmin, PathState, PathView};

/// The paths that the sums run over: those of its group that may carry data, and `path` itself. A
/// failed path, or a backup that is not called upon, must not keep a share of the growth.
pub(super) fn group_members<'a>(
    view: &AssocView<'a>,
    path: &PathView,
) -> impl Iterator<Item = &'a PathView> + use<'a> {
    let (this, group) = (path.id, path.group);
    view.paths.iter().filter(move |p| {
        let reachable = matches!(p.state, PathState::Active | PathState::PotentiallyFailed);
        let carries = reachable && (p.usable || p.admin == PathAdmin::Active);
        p.id == this || (carries && p.group == group)
    })
}

/// ceil(bytes x part / whole); all of `bytes` where the whole is nothing.
pub(super) fn round_up_share(bytes: u64, part: u128, whole: u128) -> u64 {
    if whole == 0 {
        return bytes;
    }
    let share = u128::from(bytes).saturating_mul(part).div_ceil(whole);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// An equal part of the initial window for each path, but at least one MTU.
pub(super) fn divide_initial_window(single: u64, paths: usize, mtu: u64) -> u64 {
    (single / paths.max(1) as u64).max(mtu)
}

/// w of the formulas, bytes: while a path recovers, the window that it recovers to (RFC 6356
/// section 3).
pub(super) fn window_bytes(path: &PathView) -> f64 {
    let bytes = if path.in_recovery { path.cwnd.min(path.ssthresh) } else { path.cwnd };
    bytes.max(1) as f64
}

/// The smoothed round-trip time in seconds, never zero; RTO.Initial where there is no sample.
pub(super) fn rtt_seconds(view: &AssocView<'_>, path: &PathView) -> f64 {
    path.srtt_or(view.rto_initial).max(1e-9)
}

/// x = w / rtt, bytes per second.
pub(super) fn send_rate(view: &AssocView<'_>, path: &PathView) -> f64 {
    window_bytes(path) / rtt_seconds(view, path)
}

/// The sum of x over all members.
pub(super) fn total_rate(view: &AssocView<'_>, path: &PathView) -> f64 {
    group_members(view, path).map(|p| send_rate(view, p)).sum()
}

/// The greatest of positive numbers, or zero.
pub(super) fn greatest_of(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// A part of `bytes`, to the nearest byte, but at least one.
pub(super) fn part_of(bytes: u64, part: f64) -> u64 {
    ((bytes as f64 * part).round() as u64).max(1)
}
