//! What decides which metrics the runs of a scenario have.

use polypath_metrics::{FlowShape, Shape};

use super::{FlowSpec, Scenario};
use crate::world::flow_name;

impl Scenario {
    /// The flows, paths, streams and links of its runs, as metrics are named after them.
    pub fn shape(&self) -> Shape {
        let flows = self.flow.iter().enumerate();
        let links = self.path.keys().chain(self.link.keys());
        let directed = |name: &String| ["forward", "reverse"].map(|way| format!("{name}.{way}"));
        Shape {
            flows: flows.map(|(n, flow)| self.flow_shape(flow_name(self, n), flow)).collect(),
            links: links.flat_map(directed).collect(),
        }
    }

    fn flow_shape(&self, name: String, flow: &FlowSpec) -> FlowShape {
        let all = || self.path_names().map(str::to_owned).collect();
        FlowShape {
            name,
            paths: flow.paths.clone().unwrap_or_else(all),
            streams: usize::from(flow.stream_count()),
            gives_up: flow.may_give_up(),
            sampled: self.time.sample.is_some(),
        }
    }
}
