//! What answers once per interval.

use core::fmt;

use polypath_proto::time::Time;

use super::action::Action;
use super::observation::Observation;

/// Decides once per interval how the paths share new data.
pub trait IntervalPolicy: Send + fmt::Debug {
    /// What holds until the next interval.
    fn decide(&mut self, now: Time, observation: &Observation) -> Action;

    /// What holds from now on, before the next interval: asked at the beginning of each send
    /// attempt, for policies that decide outside of [`decide`](Self::decide).
    fn revise(&mut self) -> Option<Action> {
        None
    }

    /// Its name, as [`Policy::name`](polypath_proto::policy::Policy::name) gives it: lower case,
    /// digits, hyphens.
    fn name(&self) -> &'static str {
        "interval"
    }
}
