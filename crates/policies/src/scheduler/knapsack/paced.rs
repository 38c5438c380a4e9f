//! Sources that do not fill the paths: what is left to choose is the order of packets, and with it
//! their queues.

use polypath_proto::policy::PathPick;
use polypath_proto::time::Time;
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::Knapsack;
use super::own::Own;
use super::set::{NEARLY, bit};

/// Whether the application hands in less than what would go out: hardly anything waits, and there
/// is room for more.
const fn is_paced(view: &AssocView<'_>) -> bool {
    let buffer = &view.send_buffer;
    buffer.unsent_messages <= 2 && buffer.used <= buffer.limit - buffer.limit / 8
}

impl Knapsack {
    /// Of two equally fast paths, whether `a` has less to do. Of a source that fills neither, what
    /// was sent tells that better than what is in flight: acknowledgements come in pairs.
    #[inline]
    pub(super) fn is_emptier(&self, view: &AssocView<'_>, a: &PathView, b: &PathView) -> bool {
        let alike = a.outstanding.abs_diff(b.outstanding) <= 2 * u64::from(a.mtu);
        if !alike || !is_paced(view) {
            return a.outstanding < b.outstanding;
        }
        let idle = |path: &PathView| {
            self.paths.get(path.id.index()).map_or(Time::ZERO, |own| own.burst.idle(view.now))
        };
        (idle(a), a.outstanding) < (idle(b), b.outstanding)
    }

    /// In place of the slower path `pick`, while that is busy with a packet of a source that fills
    /// neither, the fastest one of `set`, for one packet beyond its cap: acknowledgements in pairs
    /// have it take two packets in a row and leave the next three to the other one. `next` waits
    /// for a packet's time on either, and arrives earlier here.
    pub(super) fn unless_busy(
        &self,
        view: &AssocView<'_>,
        pick: PathPick,
        next: &ChunkMeta,
        set: u64,
    ) -> PathPick {
        let PathPick::Use(slow) = pick else { return pick };
        let busy = |own: &Own| own.burst.idle(view.now) > view.now;
        if !self.paths.get(slow.index()).is_some_and(busy) || !is_paced(view) {
            return pick;
        }
        let Some(slow) = view.path(slow) else { return pick };
        let here = self.hold(view, slow).as_secs_f64();
        let faster = view.sendable().filter(|path| {
            let after = path.outstanding + u64::from(next.bytes);
            let cap = self.paths.get(path.id.index()).map_or(0, |own| own.cap(path, self.slack));
            set & bit(path.id) != 0
                && here > NEARLY * self.hold(view, path).as_secs_f64()
                && after <= cap.saturating_add(u64::from(path.mtu))
        });
        let fastest = faster.min_by_key(|path| self.hold(view, path));
        fastest.map_or(pick, |path| PathPick::Use(path.id))
    }
}

#[cfg(test)]
mod tests {
    use polypath_proto::PathId;
    use polypath_proto::policy::PathScheduler;
    use polypath_proto::time::Duration;

    use super::super::tests::{buffered, ordered, scheduler, two, unordered};
    use super::*;

    #[test]
    fn a_busy_slow_path_is_spared_for_one_packet_more_on_the_fast_one() {
        let mut s = scheduler();
        let mut p = two(&mut s);
        p[0].outstanding = 28_500;
        for next in [unordered(), ordered(0)] {
            // Enough that both paths are wanted.
            let mut v = buffered(&p, 256);
            (v.send_buffer.unsent, v.send_buffer.unsent_messages) = (1452, 1);
            assert_eq!(s.pick_path(&v, &next), PathPick::Use(PathId(1)));
            s.on_sent(&v, PathId(1), &next, true);
            assert_eq!(s.pick_path(&v, &next), PathPick::Use(PathId(0)));
            // Who has more to send than goes out wants both filled.
            v.send_buffer.unsent_messages = 3;
            assert_eq!(s.pick_path(&v, &next), PathPick::Use(PathId(1)));
            v.send_buffer.unsent_messages = 1;
            // It is sent by then.
            v.now += Duration::from_millis(2);
            assert_eq!(s.pick_path(&v, &next), PathPick::Use(PathId(1)));
            s.paths[1].burst = super::super::burst::Burst::unbounded();
        }
        // One packet is the limit.
        p[0].outstanding = 30_000;
        let v = buffered(&p, 256);
        s.on_sent(&v, PathId(1), &unordered(), true);
        assert_eq!(s.pick_path(&v, &unordered()), PathPick::Use(PathId(1)));
    }

    #[test]
    fn a_fast_path_beside_a_competitor_has_room_as_long_as_its_window() {
        let mut s = scheduler();
        let p = two(&mut s);
        let mut v = buffered(&p, 256);
        (v.send_buffer.unsent, v.send_buffer.unsent_messages) = (1452, 1);
        s.on_sent(&v, PathId(1), &unordered(), true);
        s.paths[0].compete();
        let pick = s.unless_busy(&v, PathPick::Use(PathId(1)), &unordered(), 0b11);
        assert_eq!(pick, PathPick::Use(PathId(0)));
    }

    #[test]
    fn of_equal_paths_the_one_that_rested_longer_is_taken() {
        let mut s = scheduler();
        let mut p = two(&mut s);
        s.paths[1] = s.paths[0].clone();
        p[1].min_rtt = p[0].min_rtt;
        // The acknowledgement of two packets of the first is under way.
        (p[0].outstanding, p[1].outstanding) = (6_000, 4_500);
        let mut v = buffered(&p, 256);
        s.on_sent(&v, PathId(1), &unordered(), true);
        assert_eq!(s.pick_path(&v, &unordered()), PathPick::Use(PathId(0)));
        v.send_buffer.unsent_messages = 3;
        assert_eq!(s.pick_path(&v, &unordered()), PathPick::Use(PathId(1)));
    }
}
