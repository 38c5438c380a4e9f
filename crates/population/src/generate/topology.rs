//! From numbers to the links and routes of a scenario.

use polypath_scenario::units::{Delay, Packets, QueueSize, Rate};
use polypath_scenario::{LinkSettings, PathSpec, RouteSpec, Scenario};

use super::network::{Network, Path, Shared};

/// The name of the link that paths have in common.
const SHARED: &str = "shared";

/// The links of the network without what disturbs them: one per path, then the common one.
pub(crate) fn plain_links(network: &Network) -> Vec<PathSpec> {
    network.paths.iter().map(plain_link).chain(network.shared.as_ref().map(shared_link)).collect()
}

/// Puts the network into a scenario. Its links are `links`, as [`plain_links`] lists them.
pub(crate) fn place_network(network: &Network, mut links: Vec<PathSpec>, scenario: &mut Scenario) {
    let shared = links.split_off(network.paths.len());
    for (number, link) in links.into_iter().enumerate() {
        let name = network.link_name(number);
        if network.is_shared(number) {
            let links = vec![name.clone(), SHARED.to_owned()];
            scenario.link.insert(name, link);
            let route = RouteSpec { links, nat: None };
            scenario.route.insert(Network::path_name(number), route);
        } else {
            scenario.path.insert(name, link);
        }
    }
    scenario.link.extend(shared.into_iter().map(|link| (SHARED.to_owned(), link)));
}

fn plain_link(path: &Path) -> PathSpec {
    let back = LinkSettings { rate: Some(Rate(path.back)), ..LinkSettings::default() };
    PathSpec {
        rate: Some(Rate(path.rate)),
        delay: Some(Delay(path.delay)),
        queue: Some(QueueSize::Packets(Packets(path.queue))),
        reverse: (path.back != path.rate).then_some(back),
        ..PathSpec::default()
    }
}

fn shared_link(shared: &Shared) -> PathSpec {
    PathSpec {
        rate: Some(Rate(shared.rate)),
        delay: Some(Delay(shared.delay)),
        queue: Some(QueueSize::Packets(Packets(shared.queue))),
        ..PathSpec::default()
    }
}
