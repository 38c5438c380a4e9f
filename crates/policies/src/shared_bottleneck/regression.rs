//! Second moments of what two paths did at the same time, and what one path's bytes do to the
//! other's delay.

/// Intervals without which nobody can tell.
const ENOUGH: f64 = 60.0;
/// Changes of a path's flight without which nobody can tell: what moved with one or two of them,
/// say both paths' first slow starts, is no effect of theirs, however regular the rest was.
const EVENTS: f64 = 8.0;

/// What two paths had in flight and how long their round trips took, in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// Bytes in flight on either path.
    pub(super) flight: [f64; 2],
    /// Round-trip times in seconds.
    pub(super) delay: [f64; 2],
}

impl Sample {
    const fn as_array(&self) -> [f64; 4] {
        let ([f0, f1], [d0, d1]) = (self.flight, self.delay);
        [f0, f1, d0, d1]
    }
}

/// Sums of products of the changes of a [`Sample`], older ones fading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Regression {
    weight: f64,
    level: Option<[f64; 4]>,
    sums: [[f64; 4]; 4],
    /// Sums of the fourth powers of both flights' changes.
    fourth: [f64; 2],
}

/// The answer of a regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Response {
    /// What a byte of one path does to the other's delay, as a part of what it does to its own.
    pub(super) ratio: f64,
    /// The effect on the other in units of its standard error.
    pub(super) strength: f64,
    /// The same of the effect on its own path.
    pub(super) own: f64,
    /// By how many of these standard errors the effect on the other is more than half of that on
    /// its own path.
    pub(super) margin: f64,
}

impl Regression {
    /// Takes a sample in. Its changes against the level of the last 1/`follow` samples count.
    pub(super) fn add_sample(&mut self, sample: &Sample, follow: f64, fade: f64) {
        let values = sample.as_array();
        let Some(level) = &mut self.level else {
            self.level = Some(values);
            return;
        };
        let mut change = [0.0; 4];
        for ((c, l), v) in change.iter_mut().zip(level.iter_mut()).zip(values) {
            *c = v - *l;
            *l += follow * (v - *l);
        }
        let scale = self.outlier_scale(&change);
        change.iter_mut().for_each(|c| *c *= scale);
        self.weight = fade * self.weight + 1.0;
        for (sum, c) in self.fourth.iter_mut().zip(change) {
            *sum = fade * *sum + c.powi(4);
        }
        for (row, a) in self.sums.iter_mut().zip(change) {
            for (sum, b) in row.iter_mut().zip(change) {
                *sum = fade * *sum + a * b;
            }
        }
    }

    /// One event must not outweigh all others: a change of more than three standard deviations
    /// counts as one of three. All four change by the same factor, so that their relations stay.
    fn outlier_scale(&self, change: &[f64; 4]) -> f64 {
        if self.weight < 4.0 {
            return 1.0;
        }
        let excess = |(i, c): (usize, &f64)| {
            let deviation = (self.product_sum(i, i) / self.weight).sqrt();
            if deviation > 0.0 { c.abs() / (3.0 * deviation) } else { 0.0 }
        };
        1.0 / change.iter().enumerate().map(excess).fold(1.0, f64::max)
    }

    /// Forgets the level after a gap, but not what was learnt.
    pub(super) fn forget_level(&mut self) {
        self.level = None;
    }

    fn product_sum(&self, a: usize, b: usize) -> f64 {
        self.sums.get(a).and_then(|row| row.get(b)).copied().unwrap_or_default()
    }

    /// How many equally large changes of the flight on `path` would make the same moments: one,
    /// where all others are nothing beside it.
    fn effective_changes(&self, path: usize) -> f64 {
        let fourth = self.fourth.get(path).copied().unwrap_or_default();
        if fourth > 0.0 { self.product_sum(path, path).powi(2) / fourth } else { 0.0 }
    }

    /// The sum of products of `a` and `b` once what `given` explains is taken away.
    fn partial_sum(&self, a: usize, b: usize, given: usize) -> f64 {
        let norm = self.product_sum(given, given);
        if norm > 0.0 {
            self.product_sum(a, b) - self.product_sum(a, given) * self.product_sum(b, given) / norm
        } else {
            self.product_sum(a, b)
        }
    }

    /// What the bytes of path `by` (0 or 1) do to the delay of the other, beyond what that one's
    /// own bytes do. `None` while the two move together so much, or so rarely, that nobody could
    /// tell.
    pub(super) fn regress_delay(&self, by: usize, alike: f64) -> Option<Response> {
        let (x, other) = (by, 1 - by);
        let (own_delay, other_delay) = (2 + by, 3 - by);
        let free = self.partial_sum(x, x, other);
        let few = self.weight < ENOUGH || self.effective_changes(x) < EVENTS;
        if free <= alike * self.product_sum(x, x) || few {
            return None;
        }
        let effect = |delay: usize| {
            let slope = self.partial_sum(x, delay, other) / free;
            let left = self.partial_sum(delay, delay, other) - slope * slope * free;
            let error = (left.max(0.0) / ((self.weight - 3.0) * free)).sqrt();
            (slope, error.max(1e-15))
        };
        let ((own, own_error), (cross, error)) = (effect(own_delay), effect(other_delay));
        (own > 0.0).then(|| Response {
            ratio: cross / own,
            strength: cross / error,
            own: own / own_error,
            margin: (cross - 0.5 * own) / error,
        })
    }
}
