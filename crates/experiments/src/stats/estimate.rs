//! Values with errors.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Two-sided confidence of all intervals.
const CONFIDENCE: f64 = 0.95;
/// What sums and differences of a few hundred numbers may lose, as a share of the numbers.
const ROUNDING: f64 = 1e-12;

/// A value and the half width of its 95 % interval; infinite where one run says nothing about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The value.
    pub mean: f64,
    /// Half width.
    pub half: f64,
}

impl Interval {
    /// Lower end.
    pub fn low(self) -> f64 {
        self.mean - self.half
    }

    /// Upper end.
    pub fn high(self) -> f64 {
        self.mean + self.half
    }
}

/// A value estimated from runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The best value.
    pub value: f64,
    /// The error of each seed's share; their squares add up to the variance of the value.
    errors: Vec<f64>,
    /// Runs behind it; of several samples the fewest. `None`: a constant.
    runs: Option<usize>,
}

impl Estimate {
    /// A number known exactly.
    pub const fn constant(value: f64) -> Self {
        Self { value, errors: Vec::new(), runs: None }
    }

    /// The mean of a sample, in the order of the seeds. An empty sample has no mean (NaN).
    pub fn of_runs(sample: &[f64]) -> Self {
        let n = sample.len() as f64;
        let value = sample.iter().sum::<f64>() / n;
        let scale = (n * (n - 1.0)).sqrt();
        let error = |x: &f64| if scale > 0.0 { (x - value) / scale } else { 0.0 };
        Self { value, errors: sample.iter().map(error).collect(), runs: Some(sample.len()) }
    }

    /// A value that depends on others: to first order it moves by the sum of weight times movement.
    pub fn derived_from<'a>(value: f64, parts: impl IntoIterator<Item = (f64, &'a Self)>) -> Self {
        let mut derived = Self::constant(value);
        for (weight, part) in parts {
            if derived.errors.len() < part.errors.len() {
                derived.errors.resize(part.errors.len(), 0.0);
            }
            for (sum, error) in derived.errors.iter_mut().zip(&part.errors) {
                *sum += weight * error;
            }
            derived.runs = match (derived.runs, part.runs) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        derived
    }

    /// This minus `factor` times the other.
    #[must_use]
    pub fn minus(&self, factor: f64, other: &Self) -> Self {
        Self::derived_from(self.value - factor * other.value, [(1.0, self), (-factor, other)])
    }

    /// This over the other; NaN or infinite when the other is zero.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let ratio = self.value / other.value;
        Self::derived_from(ratio, [(1.0 / other.value, self), (-ratio / other.value, other)])
    }

    /// This times the other.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        let value = self.value * other.value;
        Self::derived_from(value, [(other.value, self), (self.value, other)])
    }

    /// The sum.
    pub fn sum(list: &[Self]) -> Self {
        Self::derived_from(
            list.iter().map(|one| one.value).sum(),
            list.iter().map(|one| (1.0, one)),
        )
    }

    /// The arithmetic mean.
    pub fn mean(list: &[Self]) -> Self {
        let n = list.len() as f64;
        let value = list.iter().map(|one| one.value).sum::<f64>() / n;
        Self::derived_from(value, list.iter().map(|one| (1.0 / n, one)))
    }

    /// Its 95 % interval.
    pub fn interval(&self) -> Interval {
        self.interval_at(self.value.abs())
    }

    /// Its 95 % interval, of figures as large as `scale`: sums of equal numbers may leave a
    /// rounding error behind where there was no variance, and differences where there was none.
    pub fn interval_at(&self, scale: f64) -> Interval {
        let half = match self.runs {
            None => 0.0,
            Some(0 | 1) => f64::INFINITY,
            Some(runs) => {
                let variance = self.errors.iter().map(|error| error * error).sum::<f64>();
                t_quantile(runs - 1) * variance.sqrt()
            }
        };
        let without_noise = |x: f64| if x.abs() < scale * ROUNDING { 0.0 } else { x };
        Interval { mean: without_noise(self.value), half: without_noise(half) }
    }

    /// Runs behind it; `None` for constants.
    pub const fn runs(&self) -> Option<usize> {
        self.runs
    }
}

/// The factor between the standard error and the half width of a 95 % interval.
pub fn t_quantile(degrees_of_freedom: usize) -> f64 {
    let quantile = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64)
        .map(|t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0));
    // Only zero degrees of freedom are refused.
    quantile.unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 95 % quantiles as every textbook prints them.
    const TABLE: [(usize, f64); 12] = [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (9, 2.262),
        (10, 2.228),
        (15, 2.131),
        (23, 2.069),
        (30, 2.042),
        (60, 2.000),
        (120, 1.980),
    ];

    #[test]
    fn quantiles_agree_with_the_printed_table() {
        for (degrees, printed) in TABLE {
            let ours = t_quantile(degrees);
            assert!((ours - printed).abs() < 0.0006, "{degrees}: {ours} instead of {printed}");
        }
        assert_eq!(t_quantile(0), f64::INFINITY);
    }

    /// Student's own example (1908): hours of sleep gained by ten patients under two drugs.
    const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    #[test]
    fn paired_differences_agree_with_students_example() {
        let difference = Estimate::of_runs(&SECOND).minus(1.0, &Estimate::of_runs(&FIRST));
        let Interval { mean, half } = difference.interval();
        // Published: mean 1.58, t = 4.0621 with 9 degrees of freedom, interval 0.7001 to 2.4599.
        assert!((mean - 1.58).abs() < 1e-9, "{mean}");
        assert!((mean - half - 0.7001).abs() < 5e-4, "{}", mean - half);
        assert!((mean + half - 2.4599).abs() < 5e-4, "{}", mean + half);
    }

    #[test]
    fn a_ratio_to_itself_is_exact() {
        let one = Estimate::of_runs(&SECOND);
        assert_eq!(one.over(&one).interval(), Interval { mean: 1.0, half: 0.0 });
        let product = one.times(&Estimate::constant(2.0)).interval();
        assert!((product.half - 2.0 * one.interval().half).abs() < 1e-12);
    }

    #[test]
    fn one_run_says_nothing_about_its_error() {
        assert_eq!(Estimate::of_runs(&[3.0]).interval().half, f64::INFINITY);
        assert_eq!(Estimate::constant(3.0).interval().half, 0.0);
        assert_eq!(Estimate::of_runs(&[0.1; 7]).interval().half, 0.0);
    }
}
