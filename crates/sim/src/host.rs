//! Hosts: who a packet that arrives is for.

use crate::end::Side;
use crate::flow::Flow;
use crate::network::{Network, Packet, Route};
use crate::observer::RouteInfo;
use crate::spec::Topology;

/// A host with its SCTP ports.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    /// SCTP port, flow, and side.
    ports: Vec<(u16, usize, Side)>,
}

impl Host {
    /// Whom the destination port of a packet belongs to.
    #[inline]
    pub(crate) fn owner_of_port(&self, packet: &Packet) -> Option<(usize, Side)> {
        let port = u16::from_be_bytes(*packet.data.get(2..)?.first_chunk()?);
        self.ports.iter().find(|(own, ..)| *own == port).map(|&(_, flow, side)| (flow, side))
    }
}

/// The hosts of a topology with the ports of these flows.
pub(crate) fn hosts_with_ports(topology: &Topology, flows: &[Flow]) -> Vec<Host> {
    let mut hosts: Vec<_> = topology
        .hosts
        .iter()
        .map(|host| Host { name: host.name.clone(), ports: Vec::new() })
        .collect();
    for (number, flow) in flows.iter().enumerate() {
        for side in [Side::Client, Side::Server] {
            let end = flow.end(side);
            if let Some(host) = hosts.get_mut(end.host) {
                host.ports.push((end.port, number, side));
            }
        }
    }
    hosts
}

/// What observers are told about routes.
pub(crate) fn route_infos(network: &Network, hosts: &[Host]) -> Vec<RouteInfo> {
    let name = |host: u32| hosts.get(host as usize).map_or_else(String::new, |h| h.name.clone());
    let info = |route: &Route| RouteInfo {
        path: route.name.clone(),
        from_host: name(route.from_host),
        from: route.from,
        to_host: name(route.to_host),
        to: route.to,
    };
    network.routes().iter().map(info).collect()
}
