//! Several ordered streams while the buffer is the limit.
//!
//! Streams do not wait for each other. So a path that is too slow for all of them together, because
//! what follows its data would fill the buffer, can still carry one of them alone: its data
//! occupies the buffer for its own hold time, as unordered data does (S0 section 4.3, stream-to-path
//! mapping). That stream keeps to its path, the others share the faster ones.
//!
//! It goes wrong where the application fills its streams in turn: then the others have nothing to
//! send until the slow one has taken its part, and the faster paths idle. That is seen, and for a
//! while, twice as long each time, all streams share the faster paths.

use polypath_proto::PathId;
use polypath_proto::ids::StreamId;
use polypath_proto::time::{Duration, Time};

use super::set::bit;

/// Hold times of the slowest path that streams share the faster ones, at first and at most.
const REST: (u32, u32) = (4, 256);

/// Faster paths that are idle for this part of the slowest path's hold time, in two of these, are
/// not filled by the other streams.
const IDLE: f64 = 0.5;

/// With less than this part of what all of them would get through the paths of one ordered stream,
/// paths of their own are worth nothing.
const WORTH: f64 = 0.75;

/// A stream that sent lately.
#[derive(Clone, Copy, Debug)]
struct Stream {
    id: StreamId,
    last_sent: Time,
    /// The path that it has for itself.
    own: Option<PathId>,
}

/// The streams that sent lately, and their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    /// How long the fastest and the slowest path hold a byte.
    near: Duration,
    hold: Duration,
    /// Since when faster paths have had room while a stream with a path of its own had data, and
    /// which part of what they take that is; for how many seconds all of it would have been idle
    /// before, and since when that is counted.
    idle_since: Option<(Time, f64)>,
    idle: f64,
    /// Bytes acknowledged since then, and whether a stream had a path for itself.
    delivered: u64,
    parted: bool,
    counted_since: Time,
    /// All share the faster paths until then, and for how many hold times next.
    rests: Time,
    patience: u32,
}

impl Streams {
    /// A send attempt begins; `beyond` are the paths that a stream may have for itself, `promise`
    /// the bytes per second that all get through the paths of one ordered stream.
    pub(super) fn begin_attempt(
        &mut self,
        now: Time,
        holds: (Duration, Duration),
        beyond: u64,
        promise: impl FnOnce() -> f64,
    ) {
        let (near, hold) = holds;
        (self.near, self.hold) = (near, hold);
        let memory = hold + hold;
        self.parted |= self.streams.iter().any(|stream| stream.own.is_some());
        let counted = now.since(self.counted_since);
        if counted > memory {
            let delivered = self.delivered as f64 / counted.as_secs_f64();
            if self.parted && counted <= memory * 2 && delivered < WORTH * promise() {
                self.rest(now);
            }
            self.count_anew(now);
            self.idle_since = self.idle_since.map(|(_, part)| (now, part));
        }
        self.streams.retain(|stream| now.since(stream.last_sent) < memory);
        for stream in &mut self.streams {
            stream.own = stream.own.filter(|path| beyond & bit(*path) != 0);
        }
    }

    /// Whether streams may have paths of their own now.
    pub(super) fn may_part(&self, now: Time) -> bool {
        self.streams.len() > 1 && now >= self.rests
    }

    /// The path that the stream has for itself.
    pub(super) fn path_of(&self, id: StreamId) -> Option<PathId> {
        self.streams.iter().find(|stream| stream.id == id)?.own
    }

    /// Whether another stream sends by the faster paths.
    pub(super) fn have_company(&self, id: StreamId) -> bool {
        self.streams.iter().any(|stream| stream.id != id && stream.own.is_none())
    }

    /// A stream that keeps to its path waits for the others, while a faster one has room for the
    /// part `unused` of what it takes.
    pub(super) fn note_idle(&mut self, now: Time, unused: f64) {
        let (since, part) = *self.idle_since.get_or_insert((now, unused));
        let idle = self.idle + part * now.since(since).as_secs_f64();
        if now.since(since) > self.near || idle > IDLE * self.hold.as_secs_f64() {
            self.rest(now);
            self.count_anew(now);
        }
    }

    /// All streams share the paths of one, for a while.
    fn rest(&mut self, now: Time) {
        self.streams.iter_mut().for_each(|stream| stream.own = None);
        self.patience = (2 * self.patience).clamp(REST.0, REST.1);
        (self.rests, self.idle_since) = (now + self.hold * self.patience, None);
    }

    fn count_anew(&mut self, now: Time) {
        (self.idle, self.delivered, self.counted_since) = (0.0, 0, now);
        self.parted = false;
    }

    /// So many bytes were acknowledged.
    pub(super) const fn on_acked(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    /// A chunk of the stream went out on `path`, which it has for itself if that is `beyond` those
    /// that all share.
    pub(super) fn note_sent(&mut self, now: Time, id: StreamId, path: PathId, beyond: bool) {
        if let Some((since, part)) = self.idle_since.take_if(|_| !beyond) {
            self.idle += part * now.since(since).as_secs_f64();
        }
        let own = beyond.then_some(path);
        match self.streams.iter_mut().find(|stream| stream.id == id) {
            Some(stream) => (stream.last_sent, stream.own) = (now, own),
            None => self.streams.push(Stream { id, last_sent: now, own }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(100));
    const FAST: PathId = PathId(0);
    const SLOW: PathId = PathId(1);

    /// Two streams, the second one on the slow path alone.
    fn two() -> Streams {
        let mut streams = Streams::default();
        streams.begin_attempt(Time::from_secs(1), HOLDS, 0b10, || 0.0);
        streams.note_sent(Time::from_secs(1), StreamId(0), FAST, false);
        streams.note_sent(Time::from_secs(1), StreamId(1), SLOW, true);
        streams
    }

    #[test]
    fn a_stream_keeps_to_its_path_while_that_brings_more() {
        let mut streams = two();
        assert_eq!(streams.path_of(StreamId(1)), Some(SLOW));
        assert!(streams.have_company(StreamId(1)) && !streams.have_company(StreamId(0)));
        streams.begin_attempt(Time::from_millis(1_010), HOLDS, 0, || 0.0);
        assert_eq!(streams.path_of(StreamId(1)), None);
    }

    #[test]
    fn faster_paths_that_idle_end_it_for_ever_longer() {
        let mut streams = two();
        let idle = |streams: &mut Streams, ms| {
            streams.note_idle(Time::from_millis(ms), 1.0);
            streams.may_part(Time::from_millis(ms))
        };
        assert!(idle(&mut streams, 1_000) && idle(&mut streams, 1_020));
        assert!(!idle(&mut streams, 1_021));
        assert_eq!(streams.path_of(StreamId(1)), None);
        assert!(!streams.may_part(Time::from_millis(1_420)));
        assert!(streams.may_part(Time::from_millis(1_421)));
        assert!(idle(&mut streams, 2_000) && !idle(&mut streams, 2_200));
        assert!(!streams.may_part(Time::from_millis(2_999)));
        assert!(streams.may_part(Time::from_millis(3_000)));
    }

    #[test]
    fn less_than_one_ordered_stream_would_get_ends_it_too() {
        // 100 kB in 201 ms, where that many per second were promised.
        let rests = |promise: f64| {
            let mut streams = two();
            streams.begin_attempt(Time::from_millis(1_001), HOLDS, 0b10, || promise);
            streams.on_acked(100_000);
            streams.note_sent(Time::from_millis(1_201), StreamId(1), SLOW, true);
            streams.begin_attempt(Time::from_millis(1_202), HOLDS, 0b10, || promise);
            streams.note_sent(Time::from_millis(1_202), StreamId(0), FAST, false);
            !streams.may_part(Time::from_millis(1_202))
        };
        assert!(rests(1e6) && !rests(6e5));
    }

    #[test]
    fn a_faster_path_that_sends_is_not_idle() {
        let mut streams = two();
        streams.note_idle(Time::from_millis(1_000), 1.0);
        streams.note_sent(Time::from_millis(1_010), StreamId(0), FAST, false);
        streams.note_idle(Time::from_millis(1_025), 1.0);
        assert!(streams.may_part(Time::from_millis(1_025)));
    }

    #[test]
    fn streams_that_sent_nothing_for_two_hold_times_are_forgotten() {
        let mut streams = two();
        streams.begin_attempt(Time::from_millis(1_200), HOLDS, 0b10, || 0.0);
        assert_eq!(streams.path_of(StreamId(1)), None);
        assert!(!streams.may_part(Time::from_millis(1_200)));
    }
}
