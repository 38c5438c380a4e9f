//! How much may leave at once on a path that was left half empty.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

/// Packets that may leave at once: a third of what a usual queue takes. Fewer cost more than they
/// save where paths change. Most queues count packets and not bytes, so a small one is one, too.
const PACKETS: u64 = 32;

/// Header and padding of a chunk (I-DATA, RFC 8260 section 2.1), at most.
const HEADER: u64 = 20 + 3;

/// What the path may take beyond what is acknowledged on it: as much again, as in slow start. A
/// path that gets its whole bandwidth-delay product in one go, because it rested or another one's
/// SACK freed the buffer, drops the better part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Packets that may leave.
    left: u64,
    /// What the latest SACK added to that: the one SACK that answers a host's whole batch is no
    /// rest.
    granted: u64,
    sizes: Sizes,
    /// When the path has sent what was handed to it, by the rate that it is known to carry.
    idle: Time,
}

/// How large the latest packets were.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    packets: u32,
    bytes: u32,
    /// The mean of those before these.
    before: Option<u32>,
}

impl Sizes {
    #[inline]
    fn on_sent(&mut self, bytes: u32, new_packet: bool) {
        if new_packet && u64::from(self.packets) >= PACKETS {
            *self = Self { before: Some(self.bytes / self.packets), ..Self::default() };
        }
        self.packets += u32::from(new_packet);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// How many packets so many acknowledged bytes came in: rather too many than too few.
    #[inline]
    fn packets(&self, bytes: u64) -> u64 {
        let latest = self.bytes / self.packets.max(1);
        let size = self.before.map_or(latest, |before| before.min(latest)).max(1);
        bytes.div_ceil(u64::from(size))
    }
}

impl Burst {
    /// Without a bound; for tests of other things.
    #[cfg(test)]
    pub(super) fn unbounded() -> Self {
        Self { left: u64::MAX, ..Self::default() }
    }

    pub(super) fn on_acked(&mut self, ev: &AckedInfo) {
        self.granted = 2 * self.sizes.packets(ev.bytes);
        self.left = self.left.min(PACKETS) + self.granted;
    }

    #[inline]
    pub(super) fn on_sent(&mut self, path: &PathView, bytes: u32, new_packet: bool) {
        // The view has the chunk already: nothing else in flight means that the path begins anew.
        if path.outstanding <= u64::from(bytes) + HEADER {
            self.left = PACKETS.max(self.granted);
        }
        self.sizes.on_sent(bytes, new_packet);
        self.left = self.left.saturating_sub(u64::from(new_packet));
    }

    /// Where rates send nothing leaves at once.
    #[inline]
    pub(super) const fn allows(&self, path: &PathView) -> bool {
        self.left > 0 || path.outstanding == 0 || path.rate_based
    }

    /// Such a packet left on a path of `rate` bytes per second, if that is known: the path is busy
    /// with it for a while. A rate that is known too low must not add up.
    pub(super) fn occupy(&mut self, now: Time, bytes: u32, rate: f64) {
        if rate > 0.0 {
            let took = Duration::from_nanos((f64::from(bytes) / rate * 1e9) as u64);
            self.idle = self.idle.max(now).min(now + took + took) + took;
        }
    }

    /// When a packet sent now would begin to leave.
    #[inline]
    pub(super) fn idle(&self, now: Time) -> Time {
        self.idle.max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::paths;
    use polypath_proto::PathId;

    /// A path that has nothing in flight, and packets of so many bytes.
    fn fills_as_in_slow_start(bytes: u64) {
        let (mut path, mut burst) = (paths(1).remove(0), Burst::default());
        let send = |burst: &mut Burst, path: &mut PathView| {
            let mut packets = 0;
            while burst.allows(path) {
                path.outstanding += bytes;
                burst.on_sent(path, bytes as u32, true);
                packets += 1;
            }
            packets
        };
        // Only the first packet begins anew.
        (path.outstanding, path.mtu, path.pmdcs) = (0, 1500, 1500);
        assert_eq!(send(&mut burst, &mut path), 32);
        let outstanding_before = path.outstanding;
        path.outstanding -= bytes;
        let (outstanding, may_grow) = (path.outstanding, true);
        let ev = AckedInfo {
            path: PathId(0),
            bytes,
            outstanding_before,
            outstanding,
            may_grow,
            rtt: None,
            sack_path: PathId(0),
        };
        burst.on_acked(&ev);
        assert_eq!(send(&mut burst, &mut path), 2);
    }

    #[test]
    fn a_path_that_its_congestion_control_paces_has_no_bound() {
        let (mut path, mut burst) = (paths(1).remove(0), Burst::default());
        path.outstanding = 1500;
        assert!(!burst.allows(&path));
        path.rate_based = true;
        burst.on_sent(&path, 1500, true);
        assert!(burst.allows(&path));
    }

    #[test]
    fn a_path_fills_as_in_slow_start_whatever_size_its_packets_have() {
        fills_as_in_slow_start(1500);
        fills_as_in_slow_start(144);
    }
}
