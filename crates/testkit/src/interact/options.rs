//! Random settings of what a stack need not have: path MTUs, buffers that grow, partial delivery,
//! the watch.

use polypath_proto::config::{PathMtuDiscovery, StallDetectionConfig};
use polypath_proto::ids::Mid;
use polypath_proto::rng::Rng;
use polypath_proto::time::Duration;

use crate::world::Oversize;

/// What a link carries whole, bytes: mostly everything.
pub(super) fn link_mtu(rng: &mut Rng) -> u32 {
    if rng.below(4) != 0 {
        return u32::MAX;
    }
    draw_narrow_mtu(rng)
}

/// The size of a link that does not carry everything.
pub(super) fn draw_narrow_mtu(rng: &mut Rng) -> u32 {
    [9000, 1500, 1492, 1280, 1000, 576][rng.below(6)]
}

/// How a link treats what is too large.
pub(super) fn draw_oversize(rng: &mut Rng) -> Oversize {
    [Oversize::Vanish, Oversize::Told(true), Oversize::Told(false), Oversize::Refused][rng.below(4)]
}

/// Half of all ends look for the size.
pub(super) fn path_mtu_discovery(rng: &mut Rng) -> Option<PathMtuDiscovery> {
    let discovery = PathMtuDiscovery {
        base: [1200, 1200, 1400, 576][rng.below(4)],
        max: [65_535, 9000, 1500][rng.below(3)],
        probe_timer: Duration::from_secs(1),
        raise_timer: Duration::from_secs([600, 60][rng.below(2)]),
        max_probes: [3, 1][rng.below(2)],
    };
    [None, Some(discovery)][rng.below(2)]
}

/// How far a buffer of so many bytes may grow.
pub(super) fn buffer_max(rng: &mut Rng, size: u64) -> Option<u64> {
    let sizes = [None, None, Some(size.saturating_mul(4)), Some(1 << 20)];
    sizes[rng.below(4)].filter(|max| *max > size)
}

/// From which size on a part of a message is handed over.
pub(super) fn partial_delivery(rng: &mut Rng) -> Option<u32> {
    [None, None, Some(1), Some(1000), Some(4000)][rng.below(5)]
}

/// Half of all ends watch what limits them.
pub(super) fn draw_stall_detection(rng: &mut Rng) -> Option<StallDetectionConfig> {
    let seconds = |n: usize| Duration::from_secs(n as u64);
    let (interval, stalled_after) = (seconds(1 + rng.below(3)), seconds(1 + rng.below(10)));
    [None, Some(StallDetectionConfig { interval, stalled_after })][rng.below(2)]
}

/// Message numbers begin at 0, or shortly before they wrap.
pub(super) fn first_mid(rng: &mut Rng) -> Mid {
    [Mid(0), Mid(u32::MAX - rng.below(6) as u32)][rng.below(2)]
}
