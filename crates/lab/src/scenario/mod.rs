//! Scenario files: what is in them, how they are read, and what is wrong with them.

mod changes;
mod check;
mod cross;
mod error;
mod fields;
mod flow;
mod nat;
mod needs;
mod plan;
mod set;
mod shape;
mod source;
mod stack;
mod topology;
mod trace_file;

pub use changes::{Action, AdminSetting, Change, Repeat, Series};
pub use cross::{CrossTraffic, Spacing};
pub use error::ScenarioError;
pub use flow::{App, Direction, FlowSpec};
pub use nat::{Filtering, Mapping, NatSpec, Ports, Unmapped};
pub use needs::{BesideSpec, NeedsSpec, ReliabilitySpec, ServiceSetting};
pub use plan::{Axis, Case, Scalar, Seeds, TimeSpec};
pub use set::{Assignment, AssignmentError};
pub use source::Source;
pub use stack::{
    BurstRuleSetting, CucSetting, CwndUnitSetting, ExtensionSetting, NrSackSetting, Profile,
    ReschedulingSetting, SackPathSetting, StackSettings, StackSpec, T3MarksSetting,
};
pub use topology::{
    Encapsulation, Endpoints, Family, GilbertElliott, LinkSettings, LossPlace, PathSpec, Red,
    RouteSpec, ServerAddresses,
};
pub use trace_file::TraceFile;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network, the hosts' SCTP stacks, the traffic between them and how long to watch it.
///
/// Quantities carry units: 10Mbit/s, 45ms, 64KiB, 1%, 50packets. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to see here, and where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Paths with a link of their own, by name. The order in the file is the order of the paths.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub path: IndexMap<String, PathSpec>,
    /// Links that routes share, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub link: IndexMap<String, PathSpec>,
    /// Paths over one or more links of `[link.*]`, by name; they follow those of `[path.*]`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub route: IndexMap<String, RouteSpec>,
    /// Boxes that translate addresses between the links of paths and the server, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub nat: IndexMap<String, NatSpec>,
    /// Changes at set times: cuts, new rates, new losses, new ports of a nat, paths that senders shall avoid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Change>,
    /// Changes that come again and again: rates and delays that move, links that flap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub every: Vec<Repeat>,
    /// Packets of others on a link.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cross: Vec<CrossTraffic>,
    /// Addresses and encapsulation of the two hosts.
    pub endpoints: Endpoints,
    /// The SCTP stack of both ends of every flow.
    pub stack: StackSpec,
    /// Associations and what they carry. At least one.
    pub flow: Vec<FlowSpec>,
    /// Settling, measuring, end.
    pub time: TimeSpec,
    /// Seeds of the runs.
    pub seeds: Seeds,
    /// Settings to vary. The first axis varies slowest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Axis>,
    /// What `polypath sweep` reports, such as goodput or delay.mean (docs/reference/metrics.md lists all). Empty: goodput.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
}

impl Scenario {
    /// Names of all paths, in the order of their numbers.
    pub fn path_names(&self) -> impl Iterator<Item = &str> {
        self.path.keys().chain(self.route.keys()).map(String::as_str)
    }

    /// The box that a path's client is behind.
    pub(crate) fn nat_of(&self, path: &str) -> Option<&str> {
        let own = self.path.get(path).map(|path| &path.nat);
        let own = own.or_else(|| self.route.get(path).map(|route| &route.nat));
        own?.as_deref()
    }

    /// The links that a name stands for: the core link of a path of its own, a link, or all links of a route.
    pub fn links_of<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        self.route
            .get(name)
            .map_or_else(|| vec![name], |route| route.links.iter().map(String::as_str).collect())
    }

    /// The settings of all links, each with the dotted name of its table.
    pub(crate) fn link_tables(&mut self) -> impl Iterator<Item = (String, &mut PathSpec)> {
        let paths = self.path.iter_mut().map(|(name, spec)| (format!("path.{name}"), spec));
        paths.chain(self.link.iter_mut().map(|(name, spec)| (format!("link.{name}"), spec)))
    }

    /// The delivery traces that the links follow.
    pub(crate) fn traces(&self) -> impl Iterator<Item = &TraceFile> {
        self.path.values().chain(self.link.values()).flat_map(PathSpec::traces)
    }
}
