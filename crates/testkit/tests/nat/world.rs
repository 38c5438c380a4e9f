//! A server, clients, and the boxes that translate their addresses, in virtual time.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use polypath_link::{LinkSeed, Nat, NatConfig, NatDependence, NatVerdict};
use polypath_policies::profile;
use polypath_proto::config::{
    AssocConfig, Encapsulation, EndpointConfig, ExtensionConfig, Handshake, PathPairing,
};
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathState;
use polypath_proto::{
    AssocHandle, Association, Endpoint, Event, FourTuple, RecvFrom, SendOptions, State,
};
use polypath_testkit::packet::has_chunk;
use polypath_wire::chunk::kind;

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) const SERVER_PORT: u16 = 7000;
pub(crate) const CLIENT_PORT: u16 = 5000;
/// Where the server listens, and where clients send from.
const UDP: u16 = 9899;

/// Bits per second and direction of an uplink.
const RATE: u64 = 8_000_000;
/// What waits for an uplink, at most.
const QUEUE: Duration = Duration::from_millis(50);
/// Bytes of a message, its number in front.
const MESSAGE: usize = 1000;

/// An address of the server.
pub(crate) fn server(n: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::from([203, 0, 113, n]), UDP)
}

/// The address outside of box `n`.
pub(crate) fn outside(n: u8) -> IpAddr {
    IpAddr::from([198, 51, 100, n])
}

/// The address of a client behind box `n`.
pub(crate) fn inside(n: u8, client: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::from([192, 168, n, client]), UDP)
}

/// What the applications switch on.
pub(crate) fn dynamic(assoc: AssocConfig) -> AssocConfig {
    let extensions =
        ExtensionConfig { authentication: true, dynamic_addresses: true, ..assoc.extensions };
    AssocConfig { extensions, handshake: Handshake::AllPaths, ..assoc }
}

fn endpoint(port: u16, addresses: &[IpAddr], assoc: &AssocConfig) -> EndpointConfig {
    EndpointConfig {
        port,
        addresses: addresses.to_vec(),
        encapsulation: Encapsulation::Udp,
        pairing: PathPairing::Learned,
        refuse_other_ports: true,
        assoc: Arc::new(assoc.clone()),
        ..EndpointConfig::default()
    }
}

/// A host and its application: it reads all and, if told so, sends without end.
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    pub(crate) events: Vec<(AssocHandle, Event)>,
    /// When each message came; they are checked to come once each, in order, per association.
    pub(crate) deliveries: Vec<Time>,
    expected: Vec<(AssocHandle, u32)>,
    sending: Option<(AssocHandle, u32)>,
}

impl Host {
    fn new(config: EndpointConfig, seed: u64) -> Self {
        let endpoint = Endpoint::new(config, Rng::from_u64(seed));
        let (events, deliveries, expected) = (Vec::new(), Vec::new(), Vec::new());
        Self { endpoint, events, deliveries, expected, sending: None }
    }

    /// Associations that live.
    pub(crate) fn living(&self) -> Vec<AssocHandle> {
        let lives = |h: &AssocHandle| self.assoc(*h).state() != State::Closed;
        self.endpoint.associations().filter(lives).collect()
    }

    pub(crate) fn assoc(&self, h: AssocHandle) -> &Association {
        self.endpoint.association(h).expect("an association")
    }

    /// The only association.
    pub(crate) fn only(&self) -> AssocHandle {
        let all = self.living();
        assert_eq!(all.len(), 1, "one association only: {:?}", self.events.last());
        all[0]
    }

    pub(crate) fn saw(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(|(_, event)| wanted(event))
    }

    /// Live paths with their states.
    pub(crate) fn paths(&self, h: AssocHandle) -> Vec<(FourTuple, PathState)> {
        let assoc = self.assoc(h);
        let view = assoc.view(Time::from_secs(1));
        let live = view.paths.iter().filter(|p| p.state != PathState::Removed);
        live.map(|p| (assoc.path_tuple(p.id).expect("a path"), p.state)).collect()
    }

    /// Payload bytes sent on each path that carried any.
    pub(crate) fn carried(&self, h: AssocHandle) -> Vec<u64> {
        let stats = self.assoc(h).stats();
        stats.paths.iter().map(|p| p.payload_bytes).filter(|bytes| *bytes > 0).collect()
    }

    /// From now on messages go out on `h` as fast as they can.
    pub(crate) fn send_without_end(&mut self, h: AssocHandle) {
        self.sending = Some((h, 0));
    }

    pub(crate) fn stop(&mut self) {
        self.sending = None;
    }

    fn fill(&mut self, now: Time) {
        let Some((h, next)) = &mut self.sending else { return };
        let Some(assoc) = self.endpoint.association_mut(*h) else { return };
        if assoc.state() != State::Established {
            return;
        }
        loop {
            let mut data = vec![7; MESSAGE];
            data[..4].copy_from_slice(&next.to_be_bytes());
            if assoc.send(now, StreamId(0), Bytes::from(data), SendOptions::default()).is_err() {
                return;
            }
            *next += 1;
        }
    }

    fn serve(&mut self, now: Time) {
        while let Some((h, event)) = self.endpoint.poll_event() {
            if event == Event::Readable {
                self.read(now, h);
            }
            self.events.push((h, event));
        }
        self.fill(now);
    }

    fn read(&mut self, now: Time, h: AssocHandle) {
        let assoc = self.endpoint.association_mut(h).expect("an association");
        while let Some(message) = assoc.recv(now, RecvFrom::Any) {
            let number = u32::from_be_bytes(message.data[..4].try_into().expect("four bytes"));
            if !self.expected.iter().any(|(of, _)| *of == h) {
                self.expected.push((h, 0));
            }
            let (_, next) = self.expected.iter_mut().find(|(of, _)| *of == h).expect("there");
            assert_eq!(number, *next, "a message is missing, or came again");
            *next += 1;
            self.deliveries.push(now);
        }
    }

    /// The longest time without a delivery since `from`, the last one until `end` included.
    pub(crate) fn longest_gap(&self, from: Time, end: Time) -> Duration {
        let (mut last, mut longest) = (from, Duration::ZERO);
        let later = self.deliveries.iter().filter(|at| **at >= from);
        for at in later.chain([&end]) {
            longest = longest.max(at.since(last));
            last = *at;
        }
        longest
    }
}

struct Flight {
    at: Time,
    from: SocketAddr,
    to: SocketAddr,
    data: Vec<u8>,
}

/// The whole network.
pub(crate) struct Net {
    pub(crate) now: Time,
    pub(crate) server: Host,
    pub(crate) clients: Vec<Host>,
    pub(crate) boxes: Vec<Nat>,
    /// One way.
    pub(crate) delay: Duration,
    /// Packets with HEARTBEATs of clients, as somebody on their way might keep them.
    pub(crate) overheard: Vec<Vec<u8>>,
    /// Packets of the server to wherever this says.
    pub(crate) watched: fn(SocketAddr) -> bool,
    pub(crate) caught: Vec<Vec<u8>>,
    /// Of the latest client.
    seed: u64,
    flying: Vec<Flight>,
    /// When each uplink is free, per direction.
    free: Vec<[Time; 2]>,
}

impl Net {
    /// A server at `servers` addresses, and boxes of these kinds; box `n` has [`outside`]`(n)`.
    pub(crate) fn new(servers: u8, boxes: &[NatConfig], assoc: &AssocConfig) -> Self {
        let addresses: Vec<IpAddr> = (1..=servers).map(|n| server(n).ip()).collect();
        let made = boxes.iter().enumerate().map(|(n, config)| {
            let mut config = config.clone();
            config.external = vec![outside(n as u8)];
            Nat::new(config, LinkSeed::new(7, n as u64))
        });
        Self {
            now: Time::from_secs(1),
            server: Host::new(endpoint(SERVER_PORT, &addresses, assoc), 1),
            clients: Vec::new(),
            boxes: made.collect(),
            delay: 10 * MS,
            overheard: Vec::new(),
            watched: |_| false,
            caught: Vec::new(),
            seed: 100,
            flying: Vec::new(),
            free: vec![[Time::ZERO; 2]; boxes.len()],
        }
    }

    /// One more client, at these addresses inside.
    pub(crate) fn add_client(&mut self, addresses: &[SocketAddr], assoc: &AssocConfig) -> usize {
        let addresses: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
        self.seed += 1;
        let seed = self.seed;
        self.clients.push(Host::new(endpoint(CLIENT_PORT, &addresses, assoc), seed));
        self.clients.len() - 1
    }

    /// Opens an association from each of these addresses to the server's address beside it.
    pub(crate) fn connect(
        &mut self,
        client: usize,
        paths: &[(SocketAddr, SocketAddr)],
        assoc: &AssocConfig,
    ) -> AssocHandle {
        let paths: Vec<FourTuple> =
            paths.iter().map(|&(local, remote)| FourTuple { local, remote }).collect();
        let (now, config) = (self.now, Arc::new(assoc.clone()));
        let endpoint = &mut self.clients[client].endpoint;
        endpoint.connect(now, &paths, SERVER_PORT, config).expect("connects")
    }

    /// Hands the server a packet that somebody else sends, and gives what it sends there at once.
    pub(crate) fn hit(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        data: &[u8],
    ) -> Vec<Vec<u8>> {
        self.exchange();
        let (now, endpoint) = (self.now, &mut self.server.endpoint);
        endpoint.handle_datagram(now, FourTuple { local, remote }, data);
        let (mut answers, mut others, mut buf) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(transmit) = endpoint.poll_transmit(now, &mut buf) {
            let answer = core::mem::take(&mut buf);
            if transmit.tuple.remote == remote {
                answers.push(answer);
            } else {
                others.push((transmit.tuple, answer));
            }
        }
        for (tuple, data) in others {
            self.launch(tuple.local, tuple.remote, data);
        }
        answers
    }

    /// Lets `span` of virtual time pass.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.exchange();
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.arrive();
            let now = self.now;
            for host in self.clients.iter_mut().chain([&mut self.server]) {
                if host.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                    host.endpoint.handle_timeout(now);
                }
            }
            self.exchange();
        }
        self.now = end;
    }

    fn next(&self) -> Option<Time> {
        let hosts = self.clients.iter().chain([&self.server]);
        let timers = hosts.filter_map(|host| host.endpoint.poll_timeout());
        timers.chain(self.flying.iter().map(|flight| flight.at)).min()
    }

    fn exchange(&mut self) {
        let now = self.now;
        for who in 0..=self.clients.len() {
            let host = self.clients.get_mut(who).unwrap_or(&mut self.server);
            host.serve(now);
            let (mut sent, mut buf) = (Vec::new(), Vec::new());
            while let Some(transmit) = host.endpoint.poll_transmit(now, &mut buf) {
                sent.push((transmit.tuple, core::mem::take(&mut buf)));
            }
            host.serve(now);
            for (tuple, data) in sent {
                self.launch(tuple.local, tuple.remote, data);
            }
        }
    }

    /// Out through the box of the sender, if it has one, and onto the uplink.
    fn launch(&mut self, from: SocketAddr, to: SocketAddr, data: Vec<u8>) {
        let now = self.now;
        let uplink = box_of(from.ip());
        if uplink.is_none() && (self.watched)(to) {
            self.caught.push(data.clone());
        }
        if uplink.is_some() && has_chunk(&data, kind::HEARTBEAT) {
            self.overheard.push(data.clone());
        }
        let from = match uplink {
            Some(n) => match self.boxes[n].translate_outbound(now.as_nanos(), from, to) {
                Some(mapped) => mapped,
                None => return,
            },
            None => from,
        };
        let link = uplink.map(|n| (n, 0)).or_else(|| outside_of(to.ip()).map(|n| (n, 1)));
        // Others are strangers: nobody carries what they get.
        let Some((n, way)) = link.filter(|(n, _)| *n < self.free.len()) else { return };
        let free = &mut self.free[n][way];
        let start = now.max(*free);
        if start.since(now) > QUEUE {
            return;
        }
        *free = start + Duration::from_nanos(data.len() as u64 * 8 * 1_000_000_000 / RATE);
        let at = *free + self.delay;
        self.flying.push(Flight { at, from, to, data });
    }

    fn arrive(&mut self) {
        let now = self.now;
        let (mut due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.flying).into_iter().partition(|flight| flight.at <= now);
        self.flying = later;
        due.sort_by_key(|flight| flight.at);
        for Flight { from, to, data, .. } in due {
            let Some(nat) = self.boxes.iter_mut().find(|nat| nat.is_external(to.ip())) else {
                // An address that a box had before is nobody's now.
                if outside_of(to.ip()).is_none() {
                    let tuple = FourTuple { local: to, remote: from };
                    self.server.endpoint.handle_datagram(now, tuple, &data);
                }
                continue;
            };
            match nat.translate_inbound(now.as_nanos(), from, to) {
                NatVerdict::Inside(host) => {
                    let tuple = FourTuple { local: host, remote: from };
                    self.clients[client_of(host.ip())].endpoint.handle_datagram(now, tuple, &data);
                }
                NatVerdict::Dropped(_) => {}
                NatVerdict::Unreachable(_) => {
                    let tuple = FourTuple { local: from, remote: to };
                    let report = IcmpReport::PortUnreachable;
                    self.server.endpoint.handle_icmp(now, tuple, &data, report);
                }
            }
        }
    }
}

/// Every kind of box: mapping and filtering each of three kinds (RFC 4787 sections 4.1 and 5).
pub(crate) fn kinds() -> Vec<NatConfig> {
    let all = NatDependence::ALL;
    let pairs = all.into_iter().flat_map(|mapping| all.map(|filtering| (mapping, filtering)));
    let made = pairs.map(|(mapping, filtering)| NatConfig {
        mapping,
        filtering,
        ..NatConfig::new(outside(0))
    });
    made.collect()
}

/// What one would deploy, with what the applications switch on.
pub(crate) fn fast() -> AssocConfig {
    dynamic((*profile::fast_config().expect("built in")).clone())
}

fn octets(ip: IpAddr) -> [u8; 4] {
    match ip {
        IpAddr::V4(v4) => Ipv4Addr::octets(&v4),
        IpAddr::V6(_) => [0; 4],
    }
}

fn box_of(ip: IpAddr) -> Option<usize> {
    matches!(octets(ip), [192, 168, ..]).then(|| octets(ip)[2].into())
}

/// The uplink on which packets to this address outside arrive; addresses from 100 on are those that
/// a box gets later.
fn outside_of(ip: IpAddr) -> Option<usize> {
    matches!(octets(ip), [198, 51, 100, _]).then(|| usize::from(octets(ip)[3] % 100))
}

fn client_of(ip: IpAddr) -> usize {
    usize::from(octets(ip)[3] % 100) - 1
}
