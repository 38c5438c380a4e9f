//! Named figures of a run.

mod blank;
mod flow;
mod limits;
mod probe;
mod sampled;
mod unit;

pub use probe::{Probe, is_decision, is_traced};
pub use unit::{Unit, digits, pair};

use polypath_scenario::Scenario;
use polypath_sim::RunResult;

use crate::limit::{Shares, WorldLimits};

/// Figures of a run by name, in base units. `None`: the run has no such figure, such as the delay without messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(pub Vec<(String, Option<f64>)>);

impl Figures {
    fn put(&mut self, name: impl Into<String>, value: impl Into<Option<f64>>) {
        let value = value.into().filter(|value| value.is_finite());
        self.0.push((name.into(), value));
    }

    /// The figure of this name; `None` within where the run has none.
    pub fn find(&self, name: &str) -> Option<Option<f64>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// Nanoseconds in a second.
const S: f64 = 1e9;

/// All figures of a result, without those that need traces.
pub fn figures(result: &RunResult, limits: &WorldLimits) -> Figures {
    plain(result, Some(&limits.shares(result)))
}

/// Likewise; without shares the figures about limits have names and no values.
fn plain(result: &RunResult, shares: Option<&Shares>) -> Figures {
    let mut out = Figures::default();
    out.put("measured", result.measured as f64 / S);
    for (n, one) in result.flows.iter().enumerate() {
        let shares = shares.and_then(|shares| shares.flows.get(n));
        let mut figures = |prefix: &str| {
            flow::figures(&mut out, prefix, result, one);
            limits::figures(&mut out, prefix, shares);
        };
        if n == 0 {
            figures("");
        }
        if result.flows.len() > 1 {
            figures(&format!("flow.{}.", one.name));
        }
    }
    if result.flows.len() > 1 {
        limits::joint(&mut out, shares.and_then(|shares| shares.joint));
    }
    for link in result.links.iter().filter(|link| !link.name.contains("edge")) {
        flow::link(&mut out, result, link);
    }
    out
}

/// Whether runs of this scenario have a figure of this name.
pub fn exists(name: &str, scenario: &Scenario) -> bool {
    is_decision(name) || names(scenario).iter().any(|known| known == name)
}

/// Names of all figures that runs of this scenario have, but for the numbers of its path scheduler.
pub fn names(scenario: &Scenario) -> Vec<String> {
    let blank = blank::result(scenario);
    let mut all = plain(&blank, None);
    Probe::new(scenario).figures(&mut all, &blank);
    all.0.into_iter().map(|(name, _)| name).collect()
}
