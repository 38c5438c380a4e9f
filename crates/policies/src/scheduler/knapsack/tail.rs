//! What goes out once more at the end of what there is to send.

use polypath_proto::PathId;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, PathView};

use super::set::bit;
use super::{FULL, Knapsack, buffer};

/// A copy has to arrive in this part of the time that the original still needs: less would hardly be
/// noticed, and how long that takes is not known so well.
const SOONER: f64 = 0.5;
/// What took so many times as long as was expected may take any time.
const OVERDUE: u32 = 2;

impl Knapsack {
    /// The path on which a copy would arrive soonest, if that is sooner than the original, which has
    /// been in flight on `from` since `sent`.
    pub(super) fn sooner(
        &self,
        view: &AssocView<'_>,
        from: PathId,
        sent: Time,
        bytes: u32,
    ) -> Option<PathId> {
        // Whoever is blocked by a full buffer has more to send, and the paths were chosen for that;
        // what tries another one must not fill it.
        let chosen = (self.set | self.free.all) & self.tried & bit(from) != 0;
        if chosen && view.send_buffer.used as f64 >= FULL * buffer(view) {
            return None;
        }
        let left = self.left(view, view.path(from)?, sent);
        // A copy leaves the books with its chunk, wherever that arrives, and stays in the queue: on
        // a slower path copies would add up.
        let least = left.and_then(|_| self.known_rate(view.now, view.path(from)?)).unwrap_or(0.0);
        let fits = |path: &&PathView| {
            let rate = self.known_rate(view.now, path);
            path.id != from && !path.silent && rate.is_some_and(|rate| rate >= least)
        };
        let trip = |path: &PathView| self.expected_with(view, path, bytes);
        // The SACK that gives it room comes soon: nothing else would be sooner.
        let best = view.usable().filter(fits).min_by_key(|path| trip(path))?;
        let has_room = best.outstanding + u64::from(bytes) <= best.cwnd;
        let sooner = left.is_none_or(|left| trip(best).as_secs_f64() < SOONER * left.as_secs_f64());
        (sooner && has_room).then_some(best.id)
    }

    /// How long all that is in flight on the path will take to be acknowledged; none if nobody
    /// knows.
    fn left(&self, view: &AssocView<'_>, path: &PathView, sent: Time) -> Option<Duration> {
        let rate = self.known_rate(view.now, path)?;
        let expected = self.expected_with(view, path, 0);
        let elapsed = view.now.since(sent);
        let is_overdue = path.silent || rate <= 0.0 || elapsed > OVERDUE * expected;
        (!is_overdue).then(|| expected.saturating_sub(view.now.since(path.last_data)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{buffered, scheduler, two};
    use super::*;

    const NEAR: PathId = PathId(0);
    const FAR: PathId = PathId(1);

    /// The path for a copy of a packet that has been in flight on `from` for `ms`, the last one
    /// there; both paths carry 10 Mbit/s and hold a byte for 21.2 and 86.2 ms.
    fn copy(
        from: PathId,
        ms: u64,
        prepare: impl Fn(&mut Knapsack, &mut [PathView]),
    ) -> Option<PathId> {
        copy_with(1_452, from, ms, prepare)
    }

    /// The same with so many bytes in the send buffer, of 64 KiB.
    fn copy_with(
        used: u64,
        from: PathId,
        ms: u64,
        prepare: impl Fn(&mut Knapsack, &mut [PathView]),
    ) -> Option<PathId> {
        let mut s = scheduler();
        let mut p = two(&mut s);
        let now = Time::from_millis(300);
        let sent = Time::from_millis(300 - ms);
        p[from.index()].outstanding = 1_468;
        p[from.index()].last_data = sent;
        prepare(&mut s, &mut p);
        let mut view = buffered(&p, 64);
        (view.now, view.send_buffer.unsent, view.send_buffer.used) = (now, 0, used);
        s.sooner(&view, from, sent, 1_468)
    }

    #[test]
    fn what_would_arrive_sooner_elsewhere_is_copied() {
        assert_eq!(copy(FAR, 0, |_, _| ()), Some(NEAR));
        assert_eq!(copy(FAR, 70, |_, _| ()), None, "it is nearly there");
        assert_eq!(copy(NEAR, 0, |_, _| ()), None);
        assert_eq!(copy(FAR, 200, |_, _| ()), Some(NEAR), "overdue");
        assert_eq!(copy(NEAR, 60, |_, _| ()), Some(FAR), "overdue");
    }

    #[test]
    fn where_the_buffer_is_full_only_what_tries_a_path_is_copied() {
        let full = 65_536;
        assert_eq!(copy_with(full, FAR, 0, |_, _| ()), None, "it was chosen for that");
        let tried = |s: &mut Knapsack, _: &mut [PathView]| s.tried = bit(NEAR);
        assert_eq!(copy_with(full, FAR, 0, tried), Some(NEAR));
        let left = |s: &mut Knapsack, _: &mut [PathView]| s.set = bit(NEAR);
        assert_eq!(copy_with(full, FAR, 0, left), Some(NEAR));
    }

    #[test]
    fn a_path_of_which_nothing_is_known_gives_and_takes_none() {
        let new = |n: usize| {
            move |s: &mut Knapsack, _: &mut [PathView]| s.paths[n] = super::super::Own::default()
        };
        assert_eq!(copy(NEAR, 0, new(0)), Some(FAR));
        assert_eq!(copy(FAR, 0, new(0)), None);
    }

    #[test]
    fn nothing_is_copied_to_a_suspected_or_full_path() {
        assert_eq!(copy(FAR, 0, |_, p| p[0].silent = true), None);
        assert_eq!(copy(FAR, 0, |_, p| p[0].cwnd = 1_400), None);
    }
}
