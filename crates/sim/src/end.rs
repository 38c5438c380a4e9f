//! One end of a flow: an endpoint, its place in the network, and its association.

use std::net::SocketAddr;
use std::sync::Arc;

use polypath_proto::config::{AssocConfig, Encapsulation, EndpointConfig};
use polypath_proto::rng::Rng;
use polypath_proto::stats::{AbandonedMessages, AssocStats};
use polypath_proto::{AssocHandle, Association, Endpoint, FourTuple, Transmit};

use crate::network::Route;
use crate::spec::{EndSpec, FlowSpec};

/// UDP port of encapsulated SCTP at both ends (RFC 6951 section 5.1).
const UDP_PORT: u16 = 9899;

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Opens the association and sends.
    Client,
    /// Accepts it and reads.
    Server,
}

/// An endpoint with the routes it can use.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) endpoint: Endpoint,
    pub(crate) handle: Option<AssocHandle>,
    pub(crate) port: u16,
    /// Position of its host.
    pub(crate) host: usize,
    pub(crate) established: bool,
    /// A message waits to be read, as far as is known.
    pub(crate) readable: bool,
    /// The counters at the end of settling.
    pub(crate) settled: AssocStats,
    /// What was given up by then.
    pub(crate) abandoned: AbandonedMessages,
    udp: Option<u16>,
    /// The routes of packets sent, by their addresses.
    ways: Vec<(FourTuple, u32)>,
    /// Position in `ways` of the latest packet on each path.
    way_of_path: Vec<usize>,
}

impl End {
    pub(crate) fn new(
        spec: &FlowSpec,
        side: Side,
        host: usize,
        routes: &[Route],
        rng: Rng,
        trace: bool,
    ) -> Self {
        let end = match side {
            Side::Client => &spec.client,
            Side::Server => &spec.server,
        };
        let udp = (spec.encapsulation == Encapsulation::Udp).then_some(UDP_PORT);
        let mut ways = Vec::new();
        for (number, route) in (0..).zip(routes).filter(|(_, route)| !route.hidden) {
            let tuple = FourTuple {
                local: SocketAddr::new(route.from, udp.unwrap_or(0)),
                remote: SocketAddr::new(route.to, udp.unwrap_or(0)),
            };
            ways.push((tuple, number));
        }
        Self {
            endpoint: Endpoint::new(endpoint_config(spec, side, end, trace), rng),
            handle: None,
            port: end.port,
            host,
            established: false,
            readable: false,
            settled: AssocStats::default(),
            abandoned: AbandonedMessages::default(),
            udp,
            ways,
            way_of_path: Vec::new(),
        }
    }

    pub(crate) fn assoc(&self) -> Option<&Association> {
        self.endpoint.association(self.handle?)
    }

    #[inline]
    pub(crate) fn assoc_mut(&mut self) -> Option<&mut Association> {
        self.endpoint.association_mut(self.handle?)
    }

    /// UDP source and destination port of its packets.
    pub(crate) fn udp_ports(&self) -> Option<(u16, u16)> {
        self.udp.map(|port| (port, port))
    }

    /// The addresses of a packet that arrives over `route`.
    #[inline]
    pub(crate) fn arrival_tuple(&self, route: &Route) -> FourTuple {
        let port = self.udp.unwrap_or(0);
        FourTuple {
            local: SocketAddr::new(route.to, port),
            remote: SocketAddr::new(route.from, port),
        }
    }

    /// The route of a packet to send; `None` if there is none.
    #[inline]
    pub(crate) fn route_of(&mut self, transmit: &Transmit) -> Option<u32> {
        let path = transmit.path.map_or(usize::MAX, |path| path.index());
        let way = self.way_of_path.get(path).and_then(|&way| self.ways.get(way));
        match way {
            Some((tuple, route)) if *tuple == transmit.tuple => Some(*route),
            _ => self.search_route(transmit, path),
        }
    }

    fn search_route(&mut self, transmit: &Transmit, path: usize) -> Option<u32> {
        let way = self.ways.iter().position(|(tuple, _)| *tuple == transmit.tuple)?;
        if path < self.ways.len() {
            if self.way_of_path.len() <= path {
                self.way_of_path.resize(path + 1, way);
            }
            self.way_of_path[path] = way;
        }
        self.ways.get(way).map(|(_, route)| *route)
    }
}

/// The addresses of one end, in the order of the paths, each once.
pub(crate) fn local_addresses(spec: &FlowSpec, side: Side) -> Vec<std::net::IpAddr> {
    let mut addresses = Vec::new();
    for &(client, server) in &spec.paths {
        let address = if side == Side::Client { client } else { server };
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// The (local, remote) pairs with which the client opens the association.
pub(crate) fn client_tuples(spec: &FlowSpec) -> Vec<FourTuple> {
    let port = if spec.encapsulation == Encapsulation::Udp { UDP_PORT } else { 0 };
    let tuple = |&(client, server): &(std::net::IpAddr, std::net::IpAddr)| FourTuple {
        local: SocketAddr::new(client, port),
        remote: SocketAddr::new(server, port),
    };
    spec.paths.iter().map(tuple).collect()
}

/// The settings of an association at one end, traced or not.
pub(crate) fn assoc_config(end: &EndSpec, trace: bool) -> Arc<AssocConfig> {
    let mut config = Arc::clone(&end.assoc);
    if config.trace != trace {
        Arc::make_mut(&mut config).trace = trace;
    }
    config
}

fn endpoint_config(spec: &FlowSpec, side: Side, end: &EndSpec, trace: bool) -> EndpointConfig {
    EndpointConfig {
        port: end.port,
        addresses: local_addresses(spec, side),
        encapsulation: spec.encapsulation,
        accept: side == Side::Server,
        pairing: spec.pairing,
        assoc: assoc_config(end, trace),
        ..EndpointConfig::default()
    }
}
