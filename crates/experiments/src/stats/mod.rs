//! Statistics: means with 95 % intervals by Student's t, what is derived from them, least squares.
//!
//! An [`Estimate`] carries what each seed contributed to its error. Derived quantities add these
//! contributions up to first order, seed by seed (the delta method), so that differences and ratios
//! of runs under common random numbers have the narrow intervals of paired samples.

mod estimate;
mod fit;

pub use estimate::{Estimate, Interval, t_quantile};
pub use fit::{Fit, fit_line};
