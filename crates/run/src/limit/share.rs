//! What runs reached of their limits.

use polypath_sim::RunResult;
use polypath_sim::results::FlowResult;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{Limits, NoLimit, SackRoute, WorldLimits};

/// The limits of a run's flows, and what was reached of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BoundUtilisation {
    /// In the order of the flows.
    pub flows: Vec<FlowUtilisation>,
    /// All saturated flows together, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joint: Option<Share>,
}

/// The limits of a flow and what it reached of them, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FlowUtilisation {
    /// There are limits.
    Limited {
        /// Name of the flow.
        flow: String,
        /// By which path SACKs return, as far as the limits go.
        sack_route: SackRoute,
        /// The buffer in payload bytes: whole messages that fit the smaller buffer of both ends.
        buffer: f64,
        /// Against the limit of data whose order does not matter.
        free: Share,
        /// Against the limit of one ordered stream.
        ordered: Share,
        /// Against the best path alone, computed.
        best_path: Share,
        /// Name of the best path.
        best: String,
    },
    /// There are none.
    Unlimited {
        /// Name of the flow.
        flow: String,
        /// Why, in one line.
        no_limit: String,
    },
}

/// A limit and what was reached of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Share {
    /// Payload bit/s.
    pub limit: f64,
    /// Goodput over the limit; `None` where the limit is zero.
    pub share: Option<f64>,
}

impl Share {
    fn from_goodput(limit: f64, goodput: f64) -> Self {
        Self { limit, share: (limit > 0.0).then(|| goodput / limit) }
    }
}

impl WorldLimits {
    /// What a run of this world reached.
    pub fn measure_utilisation(&self, result: &RunResult) -> BoundUtilisation {
        let flows = self.flows.iter().zip(&result.flows);
        let saturated = flows.clone().filter(|(limits, _)| limits.is_ok());
        let sum = saturated.map(|(_, flow)| flow.total.goodput).sum();
        let joint = self.joint.as_ref().and_then(|joint| joint.as_ref().ok());
        BoundUtilisation {
            flows: flows.map(|(limits, flow)| flow_utilisation(limits, flow)).collect(),
            joint: joint.map(|joint| Share::from_goodput(*joint, sum)),
        }
    }
}

fn flow_utilisation(limits: &Result<Limits, NoLimit>, flow: &FlowResult) -> FlowUtilisation {
    let name = flow.name.clone();
    match limits {
        Err(reason) => FlowUtilisation::Unlimited { flow: name, no_limit: reason.to_string() },
        Ok(limits) => {
            let share = |limit| Share::from_goodput(limit, flow.total.goodput);
            FlowUtilisation::Limited {
                flow: name,
                sack_route: limits.sack_route,
                buffer: limits.buffer,
                free: share(limits.free),
                ordered: share(limits.ordered),
                best_path: share(limits.best_path),
                best: limits.best.clone(),
            }
        }
    }
}
