//! Two endpoints in memory with virtual time, and full control of what is between them: packets
//! take 10 ms, and a test may lose, keep, delay or forge each of them. For what one rule of an RFC
//! wants; [`world`](crate::world) has links with losses of their own, more hosts and NATs.

mod addresses;
pub mod authentic;
pub mod changing;
pub mod craft;
mod end;
mod packet;
pub mod reconfig;
mod streams;

use core::fmt;
use core::net::IpAddr;
use std::sync::Arc;

use polypath_proto::config::{AssocConfig, EndpointConfig, ReproductionConfig};
use polypath_proto::ids::Tsn;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{AssocHandle, Association, FourTuple, State};

pub use addresses::{
    CLIENT_PORT, SERVER_PORT, at_server, client_addresses, client_paths, endpoint, ip,
    reverse_tuple, server_addresses, tuple,
};
pub use end::End;
pub use packet::{Packet, Verdict, Way};
pub use streams::RoundRobinStreams;

const DELAY: Duration = Duration::from_millis(10);

/// Decides what becomes of a packet.
pub type Judge = Box<dyn FnMut(&Packet) -> Verdict>;

/// Client, server and what is between them.
pub struct Pair {
    /// The present.
    pub now: Time,
    /// The one that connects.
    pub client: End,
    /// The one that is connected to.
    pub server: End,
    /// Decides about each packet as it is sent.
    pub fate: Judge,
    /// Packets under way.
    pub flying: Vec<Packet>,
    /// All packets ever sent.
    pub log: Vec<Packet>,
    /// What a NAT makes of the client's addresses, either way.
    pub translate: fn(IpAddr) -> IpAddr,
    /// Timers come at its multiples only, as hosts have them; zero: at once.
    pub tick: Duration,
}

impl Pair {
    /// Two hosts with two addresses each, and the default settings.
    #[expect(clippy::new_without_default, reason = "tests say what they make")]
    pub fn new() -> Self {
        Self::with(
            endpoint(CLIENT_PORT, &client_addresses()),
            endpoint(SERVER_PORT, &server_addresses()),
        )
    }

    /// Two hosts with these settings.
    pub fn with(client: EndpointConfig, server: EndpointConfig) -> Self {
        Self {
            now: Time::from_secs(1),
            client: End::new(client, 1),
            server: End::new(server, 2),
            fate: Box::new(|_| Verdict::Deliver),
            flying: Vec::new(),
            log: Vec::new(),
            translate: |address| address,
            tick: Duration::ZERO,
        }
    }

    /// A pair whose client opens an association, each with its settings: nothing has arrived yet.
    pub fn connecting(client: AssocConfig, server: AssocConfig) -> Self {
        let server =
            EndpointConfig { assoc: server.into(), ..endpoint(SERVER_PORT, &server_addresses()) };
        let mut pair = Self::with(endpoint(CLIENT_PORT, &client_addresses()), server);
        pair.connect_with(client);
        pair
    }

    /// A pair with an association.
    pub fn connected() -> Self {
        let mut pair = Self::new();
        pair.connect();
        pair.run_for(Duration::from_millis(200));
        assert_eq!(
            (pair.client.state(), pair.server.state()),
            (State::Established, State::Established)
        );
        pair
    }

    /// The client opens an association over both paths.
    pub fn connect(&mut self) -> AssocHandle {
        self.connect_with(AssocConfig::default())
    }

    /// The same with these settings.
    pub fn connect_with(&mut self, config: AssocConfig) -> AssocHandle {
        let paths = client_paths();
        let config = Arc::new(config);
        self.client.endpoint.connect(self.now, &paths, SERVER_PORT, config).expect("connects")
    }

    /// The server opens, too.
    pub fn connect_back(&mut self) -> AssocHandle {
        let paths = client_paths().map(reverse_tuple);
        let config = Arc::new(AssocConfig::default());
        self.server.endpoint.connect(self.now, &paths, CLIENT_PORT, config).expect("connects")
    }

    /// From now on `fate` decides about packets.
    pub fn lose_packets(&mut self, fate: impl FnMut(&Packet) -> Verdict + 'static) {
        self.fate = Box::new(fate);
    }

    /// Loses the first `count` packets that `is` recognises.
    pub fn lose_first(&mut self, count: usize, is: impl Fn(&Packet) -> bool + 'static) {
        let mut left = count;
        self.lose_packets(move |packet| {
            if left > 0 && is(packet) {
                left -= 1;
                return Verdict::Lose;
            }
            Verdict::Deliver
        });
    }

    /// From now on all packets arrive.
    pub fn deliver_all(&mut self) {
        self.lose_packets(|_| Verdict::Deliver);
    }

    /// Lets `span` of virtual time pass.
    pub fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        self.exchange_packets();
        while let Some(at) = self.next_event().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.handle_arrivals();
            for host in [&mut self.client, &mut self.server] {
                if host.endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                    host.endpoint.handle_timeout(self.now);
                }
            }
            self.exchange_packets();
        }
        self.now = end;
    }

    /// Hands `data` to a host as if it had just arrived on `tuple`; what it answers is sent.
    pub fn inject_packet(&mut self, way: Way, tuple: FourTuple, data: &[u8]) {
        let now = self.now;
        self.host(way).endpoint.handle_datagram(now, tuple, data);
        self.exchange_packets();
    }

    /// Packets sent since the log had `since` entries.
    pub fn sent_since(&self, since: usize) -> &[Packet] {
        &self.log[since..]
    }

    /// The latest packet sent that starts with a chunk of type `kind`.
    pub fn last_with(&self, kind: u8) -> Packet {
        let found = self.log.iter().rev().find(|p| p.first_kind() == kind);
        found.expect("such a packet was sent").clone()
    }

    /// Packets sent this way with a chunk of type `kind`.
    pub fn sent(&self, way: Way, kind: u8) -> usize {
        self.log.iter().filter(|p| p.way == way && p.kinds().contains(&kind)).count()
    }

    fn host(&mut self, way: Way) -> &mut End {
        match way {
            Way::ToServer => &mut self.server,
            Way::ToClient => &mut self.client,
        }
    }

    /// When the next packet arrives or the next timer expires.
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.flying.iter().map(|p| p.at).min();
        let timers = [&self.client, &self.server].map(|h| h.endpoint.poll_timeout());
        let timer = timers.into_iter().flatten().min().map(|at| self.next_tick(at));
        timer.into_iter().chain(arrival).min()
    }

    /// When a timer for `at` comes.
    fn next_tick(&self, at: Time) -> Time {
        match self.tick.as_nanos() as u64 {
            0 => at,
            tick => Time(at.0.next_multiple_of(tick)),
        }
    }

    fn handle_arrivals(&mut self) {
        let now = self.now;
        let (mut due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.flying).into_iter().partition(|p| p.at <= now);
        self.flying = later;
        due.sort_by_key(|p| p.at);
        for packet in due {
            self.host(packet.way).endpoint.handle_datagram(now, packet.tuple, &packet.data);
        }
    }

    /// Events, then packets, until there are none.
    pub fn exchange_packets(&mut self) {
        for way in [Way::ToServer, Way::ToClient] {
            let now = self.now;
            let sender = match way {
                Way::ToServer => &mut self.client,
                Way::ToClient => &mut self.server,
            };
            sender.drain_events(now);
            let mut sent = Vec::new();
            let mut buf = Vec::new();
            while let Some(transmit) = sender.endpoint.poll_transmit(now, &mut buf) {
                assert_eq!(buf.len(), transmit.len);
                let data = core::mem::take(&mut buf);
                sent.push((reverse_tuple(transmit.tuple), data, transmit.may_fragment));
            }
            sender.drain_events(now);
            for (mut tuple, data, may_fragment) in sent {
                let end = match way {
                    Way::ToServer => &mut tuple.remote,
                    Way::ToClient => &mut tuple.local,
                };
                end.set_ip((self.translate)(end.ip()));
                self.launch_packet(Packet { at: now + DELAY, way, tuple, data, may_fragment });
            }
        }
    }

    fn launch_packet(&mut self, mut packet: Packet) {
        self.log.push(packet.clone());
        match (self.fate)(&packet) {
            Verdict::Deliver => self.flying.push(packet),
            Verdict::Lose => {}
            Verdict::Delay(more) => {
                packet.at += more;
                self.flying.push(packet);
            }
        }
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { now, client, server, flying, .. } = self;
        let mut pair = f.debug_struct("Pair");
        pair.field("now", now).field("client", client).field("server", server);
        pair.field("flying", flying).finish_non_exhaustive()
    }
}

/// The client's only association.
pub fn client(pair: &mut Pair) -> &mut Association {
    pair.client.association_mut()
}

/// The server's only association.
pub fn server(pair: &mut Pair) -> &mut Association {
    pair.server.association_mut()
}

/// The TSNs of an association begin at `tsn`.
pub fn begin_at(tsn: Tsn) -> ReproductionConfig {
    ReproductionConfig { initial_tsn: Some(tsn), ..ReproductionConfig::default() }
}
