//! Policies that decide once per interval: they see an [`Observation`], and answer with an
//! [`Action`].
//!
//! A path scheduler is asked for every chunk, which is too often for what learns, or for what
//! lives in another process. An [`IntervalPolicy`] is asked every few milliseconds for the weight
//! of each path; [`Interval`] is the path scheduler that follows it in between, by start-time fair
//! queueing.
//!
//! ```
//! use core::time::Duration;
//!
//! use polypath_policies::scheduler::interval::{Action, Interval, IntervalPolicy, Observation};
//! use polypath_proto::time::Time;
//!
//! /// Paths weigh what they delivered lately.
//! #[derive(Debug)]
//! struct ByRate;
//!
//! impl IntervalPolicy for ByRate {
//!     fn decide(&mut self, _now: Time, seen: &Observation) -> Action {
//!         let rate = Observation::path_figure("delivery-rate").unwrap_or_default();
//!         let weights: Vec<f32> = seen.paths().iter().map(|path| 0.1 + path[rate]).collect();
//!         Action::of_weights(&weights).unwrap_or_default()
//!     }
//! }
//!
//! let scheduler = Interval::new(ByRate, Duration::from_millis(10));
//! polypath_testkit::conformance::check_path_scheduler(
//!     |_seed| Box::new(Interval::new(ByRate, Duration::from_millis(10))),
//!     1,
//! );
//! # drop(scheduler);
//! ```

mod action;
mod observation;
mod observer;
mod policy;
mod scale;
mod scheduler;
#[cfg(test)]
mod tests;

pub use action::{Action, ActionError, PathAction};
pub use observation::{ASSOC_FIGURES, Observation, PATH_FIGURES, VERSION};
pub use policy::IntervalPolicy;
pub use scheduler::Interval;
