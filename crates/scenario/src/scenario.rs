//! A scenario, all of it.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::changes::{Change, Repeat};
use crate::cross::CrossTraffic;
use crate::flow::FlowSpec;
use crate::nat::NatSpec;
use crate::plan::{Axis, Seeds, TimeSpec};
use crate::policies::Policies;
use crate::stack::StackSpec;
use crate::topology::{Endpoints, PathSpec, RouteSpec};
use crate::trace_file::TraceFile;

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
    /// Changes at set times: cuts, new rates, new losses, new ports of a nat, paths that senders
    /// shall avoid.
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
    /// What `polypath sweep` reports, such as goodput or delay.mean (docs/reference/metrics.md
    /// lists all). Empty: goodput.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// What the names of policies stand for: not in the file, but from who reads it.
    #[serde(skip)]
    pub policies: Policies,
}

impl Scenario {
    /// Names of all paths, in the order of their numbers.
    pub fn path_names(&self) -> impl Iterator<Item = &str> {
        self.path.keys().chain(self.route.keys()).map(String::as_str)
    }

    /// The box that a path's client is behind.
    pub fn nat_of(&self, path: &str) -> Option<&str> {
        let own = self.path.get(path).map(|path| &path.nat);
        let own = own.or_else(|| self.route.get(path).map(|route| &route.nat));
        own?.as_deref()
    }

    /// The links that a name stands for: the core link of a path of its own, a link, or all links
    /// of a route.
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
    pub fn traces(&self) -> impl Iterator<Item = &TraceFile> {
        self.path.values().chain(self.link.values()).flat_map(PathSpec::traces)
    }

    /// The own name of flow `n`, or its application's; with a number where that is not unique.
    pub fn flow_name(&self, n: usize) -> String {
        let name =
            |flow: &FlowSpec| flow.name.clone().unwrap_or_else(|| flow.app.name().to_owned());
        let Some(flow) = self.flow.get(n) else { return String::new() };
        let own = name(flow);
        let twice = self.flow.iter().filter(|other| name(other) == own).count() > 1;
        if twice && flow.name.is_none() { format!("{own}-{}", n + 1) } else { own }
    }
}
