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
}

impl Feedback {
    /// What a round trip of `rtt` would have been if its SACK had come by the nearest of the ways
    /// that SACKs take.
    pub(crate) fn by_nearest(&mut self, now: Time, sack_path: PathId, rtt: Duration) -> Duration {
        let way = match self.ways.iter_mut().position(|(path, _)| *path == sack_path) {
            Some(index) => index,
            None => {
                self.ways.push((sack_path, WindowedMin::default()));
                self.ways.len() - 1
            }
        };
        let Some((_, own)) = self.ways.get_mut(way) else { return rtt };
        match own.recent(now) {
            Some(_) => drop(own.sample(now, rtt)),
            None => own.restart(now, rtt),
        }
        let least = own.recent(now).unwrap_or(rtt);
        // Of the ways that are in use: one that is not taken any more may have become longer.
        let used = |(_, way): &&(PathId, WindowedMin)| now.since(way.latest()) <= IN_USE * rtt;
        let nearest = self.ways.iter().filter(used).filter_map(|(_, way)| way.recent(now)).min();
        nearest.unwrap_or(least) + rtt.saturating_sub(least)
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
            feedback.by_nearest(Time::from_millis(at), way, ms(trip)).as_millis() as u64
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
        assert_eq!(feed(&mut feedback, &[(400, FAR, 100), (401, FAR, 100)]), [60, 100]);
    }
}
