//! What an interval policy answers.

use smallvec::SmallVec;

/// Paths that there can be: their numbers are bytes.
const MOST_PATHS: usize = 256;

/// What one path is to do until the next decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathAction {
    /// Its share of the new data, beside those of the others; 0 or more. With 0 it carries new data
    /// only while no path with a weight is usable. Less than a millionth of the largest counts as a
    /// millionth of it.
    pub weight: f32,
    /// The part of its congestion window that it may fill, above 0, at most 1. One packet may
    /// always be in flight.
    pub cwnd_factor: f32,
}

impl Default for PathAction {
    /// Weight 1, and the whole window.
    fn default() -> Self {
        Self { weight: 1.0, cwnd_factor: 1.0 }
    }
}

/// What an interval policy decides: a [`PathAction`] for each path, by its number. Paths beyond its
/// length have weight 1 and their whole window; so an empty one shares data equally.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Action {
    /// None is allocated for as many as hosts commonly have.
    paths: SmallVec<[PathAction; 8]>,
}

/// Why numbers are no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionError {
    /// A weight that is none.
    #[error("weight[{path}] is {value}; allowed: a finite number, 0 or more")]
    Weight {
        /// The path's number.
        path: usize,
        /// The weight as given.
        value: String,
    },
    /// A factor that is none.
    #[error("cwnd_factor[{path}] is {value}; allowed: above 0, at most 1")]
    CwndFactor {
        /// The path's number.
        path: usize,
        /// The factor as given.
        value: String,
    },
    /// Not a factor for each weight.
    #[error("cwnd_factor has {factors} numbers; allowed: {weights}, one per weight")]
    Lengths {
        /// How many weights were given.
        weights: usize,
        /// How many factors were given.
        factors: usize,
    },
    /// More than there can be paths.
    #[error("weight has {weights} numbers; allowed: at most 256, one per path")]
    TooLong {
        /// How many weights were given.
        weights: usize,
    },
}

impl Action {
    /// Path p gets `weights[p]` and `cwnd_factors[p]`.
    ///
    /// # Errors
    /// [`ActionError`] when a number is not what [`PathAction`] allows, when there is not a factor
    /// for each weight, or when there are more than 256 of them.
    pub fn new(weights: &[f32], cwnd_factors: &[f32]) -> Result<Self, ActionError> {
        let (weights_len, factors) = (weights.len(), cwnd_factors.len());
        if weights_len != factors {
            return Err(ActionError::Lengths { weights: weights_len, factors });
        }
        let both = weights.iter().zip(cwnd_factors);
        Self::from_paths(both.map(|(&weight, &cwnd_factor)| PathAction { weight, cwnd_factor }))
    }

    /// Path p gets `weights[p]` and its whole window.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_weights(weights: &[f32]) -> Result<Self, ActionError> {
        Self::from_paths(weights.iter().map(|&weight| PathAction { weight, cwnd_factor: 1.0 }))
    }

    /// What the paths are to do, in the order of their numbers.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_paths(
        paths: impl ExactSizeIterator<Item = PathAction>,
    ) -> Result<Self, ActionError> {
        if paths.len() > MOST_PATHS {
            return Err(ActionError::TooLong { weights: paths.len() });
        }
        let checked = paths.enumerate().map(|(path, action)| check(path, action));
        Ok(Self { paths: checked.collect::<Result<_, _>>()? })
    }

    /// What the path of this number is to do.
    pub fn path(&self, index: usize) -> PathAction {
        self.paths.get(index).copied().unwrap_or_default()
    }
}

fn check(path: usize, action: PathAction) -> Result<PathAction, ActionError> {
    let PathAction { weight, cwnd_factor } = action;
    if !weight.is_finite() || weight < 0.0 {
        return Err(ActionError::Weight { path, value: weight.to_string() });
    }
    // Not a number is above nothing.
    if cwnd_factor > 0.0 && cwnd_factor <= 1.0 {
        Ok(action)
    } else {
        Err(ActionError::CwndFactor { path, value: cwnd_factor.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(weights: &[f32], factors: &[f32]) -> String {
        Action::new(weights, factors).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_no_number_of_the_kind_is_refused() {
        let weight = |value| error(&[0.0, value], &[1.0, 1.0]);
        assert_eq!(weight(-0.5), "weight[1] is -0.5; allowed: a finite number, 0 or more");
        assert!(weight(f32::NAN).starts_with("weight[1] is NaN;"));
        assert!(weight(f32::INFINITY).starts_with("weight[1] is inf;"));
        let factor = |value| error(&[1.0, 1.0], &[f32::MIN_POSITIVE, value]);
        assert_eq!(factor(0.0), "cwnd_factor[1] is 0; allowed: above 0, at most 1");
        for value in [f32::NAN, -1.0, 1.001, f32::INFINITY] {
            assert!(factor(value).starts_with("cwnd_factor[1] is "));
        }
    }

    #[test]
    fn lengths_are_checked() {
        assert_eq!(
            error(&[1.0; 3], &[1.0]),
            "cwnd_factor has 1 numbers; allowed: 3, one per weight"
        );
        assert_eq!(
            error(&[1.0; 257], &[1.0; 257]),
            "weight has 257 numbers; allowed: at most 256, one per path"
        );
        assert!(Action::of_weights(&[0.0; 256]).is_ok());
    }

    #[test]
    fn paths_beyond_its_length_have_weight_one() {
        let action = Action::new(&[3.0], &[0.5]).expect("valid");
        assert_eq!(action.path(0), PathAction { weight: 3.0, cwnd_factor: 0.5 });
        assert_eq!(action.path(1), PathAction { weight: 1.0, cwnd_factor: 1.0 });
    }
}
