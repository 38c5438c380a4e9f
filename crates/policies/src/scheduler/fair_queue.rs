//! Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) over paths.
//!
//! The next chunk of a path starts at S = max(V, F), where F = S' + bytes / weight is where its last
//! one ended and V is the start of the chunk that went last on any path; the smallest S goes next.

use polypath_proto::PathId;

/// V, and F of each path.
#[derive(Clone, Debug, Default)]
pub(super) struct FairQueue {
    now: f64,
    finish: Vec<f64>,
}

impl FairQueue {
    /// S of the path's next chunk.
    pub(super) fn start_of(&self, path: PathId) -> f64 {
        self.finish.get(path.index()).map_or(0.0, |&finish| finish).max(self.now)
    }

    /// A chunk of `bytes` went out on a path of this weight, which is above zero.
    pub(super) fn on_sent(&mut self, path: PathId, bytes: u32, weight: f64) {
        self.now = self.start_of(path);
        if self.finish.len() <= path.index() {
            self.finish.resize(path.index() + 1, 0.0);
        }
        if let Some(finish) = self.finish.get_mut(path.index()) {
            *finish = self.now + f64::from(bytes) / weight;
        }
    }

    /// Weights change to `stretch(path)` times less than they were. The bytes that a path is ahead
    /// of its share stay what they are, so F - V stretches as 1 / weight does; and V begins at zero
    /// again, as F loses precision where V is large.
    pub(super) fn reweigh(&mut self, stretch: impl Fn(PathId) -> f64) {
        for (path, finish) in (0..=u8::MAX).map(PathId).zip(&mut self.finish) {
            *finish = (*finish - self.now).max(0.0) * stretch(path);
        }
        self.now = 0.0;
    }

    /// The path begins as one that never sent.
    pub(super) fn forget(&mut self, path: PathId) {
        if let Some(finish) = self.finish.get_mut(path.index()) {
            *finish = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_ahead_survive_a_change_of_weights() {
        let (a, b) = (PathId(0), PathId(3));
        let mut queue = FairQueue::default();
        queue.on_sent(a, 1000, 0.5);
        assert_eq!([queue.start_of(a), queue.start_of(b)], [2000.0, 0.0]);
        // 1000 bytes ahead at weight 0.5; at weight 1 these are 1000 units.
        queue.reweigh(|path| if path == a { 0.5 } else { 1.0 });
        assert_eq!([queue.start_of(a), queue.start_of(b)], [1000.0, 0.0]);
        queue.on_sent(b, 1500, 1.0);
        queue.on_sent(a, 100, 1.0);
        queue.reweigh(|_| 1.0);
        assert_eq!([queue.start_of(a), queue.start_of(b)], [100.0, 500.0], "V is zero again");
        queue.forget(b);
        assert_eq!(queue.start_of(b), 0.0);
    }
}
