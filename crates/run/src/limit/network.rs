//! The ways of a flow's paths through the network, and what they are like at a given time.

use polypath_link::{Change, LinkConfig, LossModel, Nanos};
use polypath_sim::WorldSpec;
use polypath_sim::spec::{FlowSpec, RouteSpec, Topology};

use super::message::Sending;
use super::model::{NoLimit, Path, SackRoute};

const S: f64 = 1e9;

/// The links of a path by number: there and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) name: String,
    there: Vec<usize>,
    back: Vec<usize>,
}

/// A link at a given time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    rate: Option<f64>,
    delay: f64,
    up: bool,
}

/// The ways of a flow's paths, in the order of the paths.
pub(super) fn find_ways(spec: &WorldSpec, flow: &FlowSpec) -> Result<Vec<Way>, NoLimit> {
    let way = |(n, (from, to)): (usize, &(_, _))| {
        let topology = &spec.topology;
        let found = |a, b| topology.routes.iter().find(|route| (route.from, route.to) == (a, b));
        let nowhere = || NoLimit::NoWay((n + 1).to_string());
        let (there, back) = found(*from, *to).zip(found(*to, *from)).ok_or_else(nowhere)?;
        let name = there.name.clone();
        let nowhere = || NoLimit::NoWay(name.clone());
        let way = Way {
            there: link_numbers(topology, there).ok_or_else(nowhere)?,
            back: link_numbers(topology, back).ok_or_else(nowhere)?,
            name: name.clone(),
        };
        way.check_links(topology)?;
        Ok(way)
    };
    flow.paths.iter().enumerate().map(way).collect()
}

fn link_numbers(topology: &Topology, route: &RouteSpec) -> Option<Vec<usize>> {
    let number = |name: &String| topology.links.iter().position(|link| link.name == *name);
    route.links.iter().map(number).collect()
}

impl Way {
    /// Refuses what the limits do not know about.
    fn check_links(&self, topology: &Topology) -> Result<(), NoLimit> {
        let configs = |links: &[usize]| -> Vec<&LinkConfig> {
            links.iter().filter_map(|n| Some(&topology.links.get(*n)?.config)).collect()
        };
        let there = configs(&self.there);
        for link in there.iter().chain(&configs(&self.back)) {
            if link.trace.is_some() {
                return Err(NoLimit::Trace(self.name.clone()));
            }
            if is_lossy(link) {
                return Err(NoLimit::Lossy(self.name.clone()));
            }
        }
        let rated = there.iter().any(|link| link.rate.is_some() && !is_unlimited(link));
        if rated { Ok(()) } else { Err(NoLimit::NoRate(self.name.clone())) }
    }

    /// Whether it leads over the link of this name.
    pub(super) fn uses_link(&self, spec: &WorldSpec, link: &str) -> bool {
        let mut links = self.there.iter().chain(&self.back);
        links.any(|n| spec.topology.links.get(*n).is_some_and(|found| found.name == link))
    }

    /// Times at which something changes on the way.
    pub(super) fn change_times<'a>(
        &'a self,
        spec: &'a WorldSpec,
    ) -> impl Iterator<Item = Nanos> + 'a {
        let links = self.there.iter().chain(&self.back);
        let configs = links.filter_map(|n| spec.topology.links.get(*n));
        configs.flat_map(|link| link.config.schedule.iter().map(|(time, _)| *time))
    }
}

fn is_lossy(link: &LinkConfig) -> bool {
    let later = link.schedule.iter().filter_map(|(_, change)| match change {
        Change::Loss(models) => Some(models),
        _ => None,
    });
    std::iter::once(&link.loss).chain(later).flatten().any(|model| match model {
        LossModel::Bernoulli(p) | LossModel::BitError(p) => *p > 0.0,
        LossModel::GilbertElliott { loss_good, loss_bad, .. } => {
            *loss_good > 0.0 || *loss_bad > 0.0
        }
        LossModel::Scripted(packets) => !packets.is_empty(),
    })
}

/// Whether the link has no rate from some time on.
fn is_unlimited(link: &LinkConfig) -> bool {
    link.schedule.iter().any(|(_, change)| matches!(change, Change::Rate(None)))
}

/// All links of the world as they are from `time` on.
pub(super) fn links_at(spec: &WorldSpec, time: Nanos) -> Vec<Link> {
    let at = |config: &LinkConfig| {
        let mut link = Link {
            rate: config.rate.map(|rate| rate as f64),
            delay: config.delay as f64 / S,
            up: true,
        };
        let mut schedule: Vec<_> = config.schedule.iter().filter(|(at, _)| *at <= time).collect();
        schedule.sort_by_key(|(at, _)| *at);
        for (_, change) in schedule {
            match change {
                Change::Up(up) => link.up = *up,
                Change::Rate(rate) => link.rate = rate.map(|rate| rate as f64),
                Change::Delay(delay) => link.delay = *delay as f64 / S,
                Change::Loss(_) => {}
            }
        }
        link
    };
    spec.topology.links.iter().map(|link| at(&link.config)).collect()
}

/// What the paths are like while the links are like this.
pub(super) fn model_paths(ways: &[Way], links: &[Link], sending: &Sending) -> Vec<Path> {
    let fastest = fastest_way_back(ways, links, sending);
    let primary = ways.first().and_then(|way| way.sack_delay(links, sending));
    let path = |way: &Way| {
        let own = way.sack_delay(links, sending);
        let back = match sending.route {
            SackRoute::Fastest => fastest,
            SackRoute::Own => own.or(fastest),
            SackRoute::Primary => primary.or(fastest),
        };
        let there = packet_delay(&way.there, links, sending.packet);
        let (Some(there), Some(back)) = (there, back) else {
            return Path { hold: f64::INFINITY, own_hold: f64::INFINITY, links: Vec::new() };
        };
        let mut numbers = way.there.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let rate = |n: usize| Some((n, links.get(n)?.rate? * sending.efficiency));
        Path {
            hold: there + back,
            own_hold: own.map_or(f64::INFINITY, |own| there + own),
            links: numbers.into_iter().filter_map(rate).collect(),
        }
    };
    ways.iter().map(path).collect()
}

/// The way back of the path with the least delay; of equal ones, that of the first.
fn fastest_way_back(ways: &[Way], links: &[Link], sending: &Sending) -> Option<f64> {
    let up = ways.iter().filter_map(|way| {
        let delay = packet_delay(&way.back, links, 0.0)?;
        Some((delay, way.sack_delay(links, sending)?))
    });
    up.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, back)| back)
}

impl Way {
    /// How long a SACK takes on the way back.
    fn sack_delay(&self, links: &[Link], sending: &Sending) -> Option<f64> {
        packet_delay(&self.back, links, sending.sack)
    }
}

/// How long a packet of so many bits takes: on every link its serialisation and the delay. `None`:
/// a link is down.
fn packet_delay(way: &[usize], links: &[Link], bits: f64) -> Option<f64> {
    let one = |n: &usize| {
        let link = links.get(*n).filter(|link| link.up)?;
        Some(link.delay + link.rate.map_or(0.0, |rate| bits / rate))
    };
    way.iter().map(one).sum()
}
