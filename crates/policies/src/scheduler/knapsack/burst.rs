//! How much may leave at once on a path that was left half empty.

use polypath_proto::policy::AckedInfo;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathView;

/// Packets that may leave at once: a third of what a usual queue takes. Fewer cost more than they
/// save where paths change.
const PACKETS: u64 = 32;

/// Packets that are spread go by so many times the rate that the path is known to carry, so that it
/// may turn out to carry more.
const SPREAD: f64 = 1.25;

/// What the path may take beyond what is acknowledged on it: as much again, as in slow start. A
/// path that gets its whole bandwidth-delay product in one go, because it rested or another one's
/// SACK freed the buffer, drops the better part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Bytes that may leave.
    left: u64,
    /// What the latest SACK added to that: the one SACK that answers a host's whole batch is no
    /// rest.
    granted: u64,
    /// When the next packet is due, where packets are spread.
    due: Time,
    /// When the path has sent what was handed to it, by the rate that it is known to carry.
    idle: Time,
}

impl Burst {
    /// Without a bound; for tests of other things.
    #[cfg(test)]
    pub(super) const UNBOUNDED: Self =
        Self { left: u64::MAX, granted: 0, due: Time::ZERO, idle: Time::ZERO };

    fn most(path: &PathView) -> u64 {
        PACKETS * u64::from(path.mtu)
    }

    pub(super) fn on_acked(&mut self, path: &PathView, ev: &AckedInfo) {
        self.granted = 2 * ev.bytes;
        self.left = self.left.min(Self::most(path)) + self.granted;
    }

    #[inline]
    pub(super) fn on_sent(&mut self, path: &PathView, bytes: u32) {
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

    /// Such a packet left on a path of `rate` bytes per second, if that is known: after a rest two
    /// leave at once, then they are a packet's time apart.
    pub(super) fn spread(&mut self, now: Time, bytes: u32, rate: f64) {
        if rate > 0.0 {
            let took = Duration::from_nanos((f64::from(bytes) / (SPREAD * rate) * 1e9) as u64);
            self.due = (self.due + took).max(now).min(now + took);
        }
    }

    /// Such a packet left: the path is busy with it for a while. A rate that is known too low must
    /// not add up.
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

    /// Whether a packet is due.
    #[inline]
    pub(super) const fn is_due(&self, now: Time) -> bool {
        self.due.0 <= now.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::paths;
    use polypath_proto::PathId;

    #[test]
    fn a_path_fills_as_in_slow_start() {
        let (mut path, mut burst) = (paths(1).remove(0), Burst::default());
        let send = |burst: &mut Burst, path: &mut PathView| {
            let mut packets = 0;
            while burst.allows(path) {
                path.outstanding += 1500;
                burst.on_sent(path, 1500);
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
            sack_path: PathId(0),
        };
        burst.on_acked(&path, &ev);
        assert_eq!(send(&mut burst, &mut path), 2);
    }

    #[test]
    fn packets_are_spread_by_a_quarter_more_than_the_rate() {
        let (rate, mut burst, mut sent) = (1e6, Burst::default(), Vec::new());
        for tenth in 1_000..1_100_u64 {
            let now = Time(tenth * 100_000);
            while burst.is_due(now) {
                burst.spread(now, 1_250, rate);
                sent.push(tenth);
            }
        }
        // 1,250 bytes take 1.25 ms, less a fifth.
        assert_eq!(sent[..4], [1_000, 1_000, 1_010, 1_020]);
        assert_eq!(sent.len(), 11);
    }
}
