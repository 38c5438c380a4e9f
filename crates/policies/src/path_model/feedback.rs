//! Round trips that came back by several ways.
//!
//! A SACK answers data of all paths, and takes whichever way its sender chooses: the nearest one, the
//! data's own, both. A path's round trip so jumps by the difference of two ways back, and that is no
//! queue. Each way has a smallest round trip of its own; what is longer than that is.

use polypath_proto::PathId;
use polypath_proto::time::{Duration, Time};
use smallvec::SmallVec;

use crate::path_model::windowed_min::WindowedMin;

/// Round trips within which a way that SACKs take has brought one.
const IN_USE: u32 = 4;

/// The smallest round trips of one path's data, by the path of the SACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feedback {
    ways: SmallVec<[(PathId, WindowedMin); 1]>,
    /// The nearest way, as SACKs come.
    nearest: Option<PathId>,
}

/// A round trip, whichever way its SACK took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trip {
    /// What it would have been if the SACK had come by the nearest of the ways that SACKs take.
    pub(crate) rtt: Duration,
    /// The smallest one of the way that is the nearest now that the one before brings no SACKs any
    /// more: all round trips are longer from now on, and not by a queue.
    pub(crate) longer: Option<Duration>,
}

impl Feedback {
    /// What a round trip of `rtt` tells, whose SACK came by `sack_path`.
    pub(crate) fn on_trip(&mut self, now: Time, sack_path: PathId, rtt: Duration) -> Trip {
        let way = match self.ways.iter_mut().position(|(path, _)| *path == sack_path) {
            Some(index) => index,
            None => {
                self.ways.push((sack_path, WindowedMin::default()));
                self.ways.len() - 1
            }
        };
        let Some((_, own)) = self.ways.get_mut(way) else { return Trip { rtt, longer: None } };
        match own.recent(now) {
            Some(_) => drop(own.sample(now, rtt)),
            None => own.restart(now, rtt),
        }
        let least = own.recent(now).unwrap_or(rtt);
        // Of the ways that are in use: one that is not taken any more may have become longer.
        let used = |way: &WindowedMin| now.since(way.latest()) <= IN_USE * rtt;
        let in_use = self.ways.iter().filter(|(_, way)| used(way));
        let trips = in_use.filter_map(|(path, way)| way.recent(now).map(|trip| (trip, *path)));
        let (nearest, path) = trips.min().unwrap_or((least, sack_path));
        let before = self.nearest.replace(path).filter(|before| *before != path);
        let gone = |(path, way): &(PathId, WindowedMin)| Some(*path) == before && !used(way);
        let longer = before.is_some() && self.ways.iter().any(gone);
        Trip { rtt: nearest + rtt.saturating_sub(least), longer: longer.then_some(nearest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: PathId = PathId(0);
    const NEAR: PathId = PathId(1);

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn feed(feedback: &mut Feedback, samples: &[(u64, PathId, u64)]) -> Vec<u64> {
        let sample = |&(at, way, trip): &(u64, PathId, u64)| {
            feedback.on_trip(Time::from_millis(at), way, ms(trip)).rtt.as_millis() as u64
        };
        samples.iter().map(sample).collect()
    }

    #[test]
    fn one_way_changes_nothing() {
        let trips = feed(&mut Feedback::default(), &[(0, FAR, 100), (10, FAR, 130), (20, FAR, 90)]);
        assert_eq!(trips, [100, 130, 90]);
    }

    #[test]
    fn the_difference_of_two_ways_back_is_no_queue() {
        let mut feedback = Feedback::default();
        let trips = feed(&mut feedback, &[(0, FAR, 100), (10, NEAR, 60), (20, FAR, 100)]);
        assert_eq!(trips, [100, 60, 60]);
        assert_eq!(feed(&mut feedback, &[(30, FAR, 125), (40, NEAR, 85)]), [85, 85]);
    }

    #[test]
    fn a_way_that_is_not_used_any_more_does_not_count() {
        let mut feedback = Feedback::default();
        feed(&mut feedback, &[(0, NEAR, 60), (10, FAR, 100)]);
        let trip = |ms| Trip { rtt: Duration::from_millis(ms), longer: None };
        let mut far = |at| feedback.on_trip(Time::from_millis(at), FAR, ms(100));
        assert_eq!(far(400), trip(60));
        assert_eq!(far(401), Trip { longer: Some(ms(100)), ..trip(100) }, "no queue");
        assert_eq!(far(402), trip(100));
    }
}
