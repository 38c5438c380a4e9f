//! How much may leave at once on a path that was left half empty.

use polypath_proto::policy::AckedInfo;
use polypath_proto::view::PathView;

/// Packets that may leave at once: a third of what a usual queue takes. Fewer cost more than they save where paths change.
const PACKETS: u64 = 32;

/// What the path may take beyond what is acknowledged on it: as much again, as in slow start. A path that gets its whole
/// bandwidth-delay product in one go, because it rested or another one's SACK freed the buffer, drops the better part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Bytes that may leave.
    left: u64,
    /// What the latest SACK added to that: the one SACK that answers a host's whole batch is no rest.
    granted: u64,
}

impl Burst {
    /// Without a bound; for tests of other things.
    #[cfg(test)]
    pub(super) const UNBOUNDED: Self = Self { left: u64::MAX, granted: 0 };

    fn most(path: &PathView) -> u64 {
        PACKETS * u64::from(path.mtu)
    }

    pub(super) fn acked(&mut self, path: &PathView, ev: &AckedInfo) {
        self.granted = 2 * ev.bytes;
        self.left = self.left.min(Self::most(path)) + self.granted;
    }

    #[inline]
    pub(super) fn sent(&mut self, path: &PathView, bytes: u32) {
        // The view has the chunk already: nothing else in flight means that the path begins anew.
        if path.outstanding <= u64::from(path.pmdcs) {
            self.left = Self::most(path).max(self.granted);
        }
        self.left = self.left.saturating_sub(u64::from(bytes));
    }

    #[inline]
    pub(super) const fn allows(&self, path: &PathView) -> bool {
        self.left > 0 || path.outstanding == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::paths;
    use polypath_proto::PathId;

    #[test]
    fn a_path_fills_as_in_slow_start() {
        let (mut path, mut burst) = (paths(1).remove(0), Burst::default());
        let send = |burst: &mut Burst, path: &mut PathView| {
            let mut packets = 0;
            while burst.allows(path) {
                path.outstanding += 1500;
                burst.sent(path, 1500);
                packets += 1;
            }
            packets
        };
        // Only the first packet begins anew.
        (path.outstanding, path.mtu, path.pmdcs) = (0, 1500, 1500);
        assert_eq!(send(&mut burst, &mut path), 32);
        let outstanding_before = path.outstanding;
        path.outstanding -= 1500;
        let (outstanding, may_grow) = (path.outstanding, true);
        let ev = AckedInfo {
            path: PathId(0),
            bytes: 1500,
            outstanding_before,
            outstanding,
            may_grow,
            rtt: None,
        };
        burst.acked(&path, &ev);
        assert_eq!(send(&mut burst, &mut path), 2);
    }
}
