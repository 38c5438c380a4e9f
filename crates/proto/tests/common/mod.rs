//! Two endpoints in memory with virtual time. Packets take 10 ms; a test may lose, keep or forge them.

#![allow(dead_code, reason = "each test binary uses its own part of the harness")]

pub(crate) mod authentic;
pub(crate) mod changing;
pub(crate) mod craft;
pub(crate) mod reconfig;

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, CcConfig, EndpointConfig, PathPairing};
use polypath_proto::ids::StreamId;
use polypath_proto::policy::{Policy, PolicyFactory, PolicySet, StreamQueues, StreamScheduler};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{
    AssocHandle, CloseReason, Endpoint, Event, FourTuple, Message, RecvFrom, SendOptions, State,
};
use polypath_wire::{ChecksumCheck, PacketView};

pub(crate) const CLIENT_PORT: u16 = 5001;
pub(crate) const SERVER_PORT: u16 = 9;
const DELAY: Duration = Duration::from_millis(10);

/// One side.
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    pub(crate) events: Vec<(AssocHandle, Event)>,
    pub(crate) received: Vec<Message>,
    /// The application reads.
    pub(crate) reads: bool,
    /// The application fills the send buffer with messages of this size.
    pub(crate) saturates: Option<usize>,
}

impl Host {
    pub(crate) fn new(config: EndpointConfig, seed: u64) -> Self {
        let endpoint = Endpoint::new(config, Rng::from_u64(seed));
        let (events, received) = (Vec::new(), Vec::new());
        Self { endpoint, events, received, reads: true, saturates: None }
    }

    /// The only association.
    pub(crate) fn handle(&self) -> AssocHandle {
        let mut all = self.endpoint.associations();
        let h = all.next().expect("an association");
        assert!(all.next().is_none(), "one association only");
        h
    }

    pub(crate) fn count(&self) -> usize {
        self.endpoint.associations().count()
    }

    pub(crate) fn state(&self) -> State {
        self.endpoint.association(self.handle()).expect("association").state()
    }

    pub(crate) fn saw(&self, wanted: &Event) -> bool {
        self.events.iter().any(|(_, event)| event == wanted)
    }

    pub(crate) fn established(&self) -> usize {
        let established = |(_, e): &&(AssocHandle, Event)| matches!(e, Event::Established { .. });
        self.events.iter().filter(established).count()
    }

    pub(crate) fn closed(&self) -> Option<CloseReason> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::Closed(reason) => Some(reason.clone()),
            _ => None,
        })
    }

    pub(crate) fn send(&mut self, now: Time, data: &'static [u8]) {
        let h = self.handle();
        let assoc = self.endpoint.association_mut(h).expect("association");
        let data = Bytes::from_static(data);
        assoc.send(now, StreamId(0), data, SendOptions::default()).expect("accepted");
    }

    pub(crate) fn shutdown(&mut self, now: Time) {
        let h = self.handle();
        self.endpoint.association_mut(h).expect("association").shutdown(now);
    }

    pub(crate) fn texts(&self) -> Vec<&[u8]> {
        self.received.iter().map(|m| m.data.as_ref()).collect()
    }

    fn drain_events(&mut self, now: Time) {
        while let Some((h, event)) = self.endpoint.poll_event() {
            if event == Event::Readable && self.reads {
                let assoc = self.endpoint.association_mut(h).expect("association");
                while let Some(message) = assoc.recv(now, RecvFrom::Any) {
                    self.received.push(message);
                }
            }
            if matches!(event, Event::Writable(_)) {
                self.fill(now, h);
            }
            self.events.push((h, event));
        }
    }

    /// Hands in messages until there is no room.
    pub(crate) fn fill(&mut self, now: Time, h: AssocHandle) {
        let Some(bytes) = self.saturates else { return };
        let assoc = self.endpoint.association_mut(h).expect("association");
        let message = || Bytes::from(vec![7; bytes]);
        while assoc.send(now, StreamId(0), message(), SendOptions::default()).is_ok() {}
    }
}

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

/// A packet under way, as its receiver sees it.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) at: Time,
    pub(crate) way: Way,
    pub(crate) tuple: FourTuple,
    pub(crate) data: Vec<u8>,
    /// Don't Fragment is off.
    pub(crate) may_fragment: bool,
}

impl Packet {
    /// Types of the chunks.
    pub(crate) fn kinds(&self) -> Vec<u8> {
        let view = PacketView::parse(&self.data, ChecksumCheck::Verify).expect("valid packet");
        view.chunks().map(|chunk| chunk.expect("valid chunk").kind).collect()
    }

    pub(crate) fn first_kind(&self) -> u8 {
        self.kinds()[0]
    }

    /// Flags of the first chunk.
    pub(crate) fn first_flags(&self) -> u8 {
        let view = PacketView::parse(&self.data, ChecksumCheck::Verify).expect("valid");
        view.chunks().next().expect("a chunk").expect("valid").flags
    }

    pub(crate) fn tag(&self) -> u32 {
        PacketView::parse(&self.data, ChecksumCheck::Verify)
            .expect("valid")
            .header()
            .verification_tag
    }
}

/// What to do with a packet that was just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Deliver,
    Lose,
    Delay(Duration),
}

type Judge = Box<dyn FnMut(&Packet) -> Fate>;

/// Client, server and what is between them.
pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) client: Host,
    pub(crate) server: Host,
    pub(crate) fate: Judge,
    pub(crate) flying: Vec<Packet>,
    /// All packets ever sent.
    pub(crate) log: Vec<Packet>,
    /// What a NAT makes of the client's addresses, either way.
    pub(crate) translate: fn(IpAddr) -> IpAddr,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::with(
            endpoint(CLIENT_PORT, &client_addresses()),
            endpoint(SERVER_PORT, &server_addresses()),
        )
    }

    pub(crate) fn with(client: EndpointConfig, server: EndpointConfig) -> Self {
        Self {
            now: Time::from_secs(1),
            client: Host::new(client, 1),
            server: Host::new(server, 2),
            fate: Box::new(|_| Fate::Deliver),
            flying: Vec::new(),
            log: Vec::new(),
            translate: |address| address,
        }
    }

    /// A pair with an association.
    pub(crate) fn connected() -> Self {
        let mut pair = Self::new();
        pair.connect();
        pair.run(Duration::from_millis(200));
        assert_eq!(
            (pair.client.state(), pair.server.state()),
            (State::Established, State::Established)
        );
        pair
    }

    pub(crate) fn connect(&mut self) -> AssocHandle {
        self.connect_with(AssocConfig::default())
    }

    pub(crate) fn connect_with(&mut self, config: AssocConfig) -> AssocHandle {
        let paths = client_paths();
        let config = Arc::new(config);
        self.client.endpoint.connect(self.now, &paths, SERVER_PORT, config).expect("connects")
    }

    /// The server opens, too.
    pub(crate) fn connect_back(&mut self) -> AssocHandle {
        let paths = client_paths().map(reverse);
        let config = Arc::new(AssocConfig::default());
        self.server.endpoint.connect(self.now, &paths, CLIENT_PORT, config).expect("connects")
    }

    pub(crate) fn lose(&mut self, fate: impl FnMut(&Packet) -> Fate + 'static) {
        self.fate = Box::new(fate);
    }

    /// Loses the first `count` packets that `is` recognises.
    pub(crate) fn lose_first(&mut self, count: usize, is: impl Fn(&Packet) -> bool + 'static) {
        let mut left = count;
        self.lose(move |packet| {
            if left > 0 && is(packet) {
                left -= 1;
                return Fate::Lose;
            }
            Fate::Deliver
        });
    }

    pub(crate) fn deliver_all(&mut self) {
        self.lose(|_| Fate::Deliver);
    }

    /// Lets `span` of virtual time pass.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.exchange();
        while let Some(at) = self.next_event().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.arrivals();
            for host in [&mut self.client, &mut self.server] {
                if host.endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                    host.endpoint.handle_timeout(self.now);
                }
            }
            self.exchange();
        }
        self.now = end;
    }

    /// Hands `data` to a host as if it had just arrived on `tuple`; what it answers is sent.
    pub(crate) fn inject(&mut self, way: Way, tuple: FourTuple, data: &[u8]) {
        let now = self.now;
        self.host(way).endpoint.handle_datagram(now, tuple, data);
        self.exchange();
    }

    /// Packets sent since the log had `since` entries.
    pub(crate) fn sent_since(&self, since: usize) -> &[Packet] {
        &self.log[since..]
    }

    /// The latest packet sent that starts with a chunk of type `kind`.
    pub(crate) fn last_with(&self, kind: u8) -> Packet {
        let found = self.log.iter().rev().find(|p| p.first_kind() == kind);
        found.expect("such a packet was sent").clone()
    }

    pub(crate) fn sent(&self, way: Way, kind: u8) -> usize {
        self.log.iter().filter(|p| p.way == way && p.kinds().contains(&kind)).count()
    }

    fn host(&mut self, way: Way) -> &mut Host {
        match way {
            Way::ToServer => &mut self.server,
            Way::ToClient => &mut self.client,
        }
    }

    pub(crate) fn next_event(&self) -> Option<Time> {
        let arrival = self.flying.iter().map(|p| p.at).min();
        let timers = [&self.client, &self.server].map(|h| h.endpoint.poll_timeout());
        timers.into_iter().flatten().chain(arrival).min()
    }

    fn arrivals(&mut self) {
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
    pub(crate) fn exchange(&mut self) {
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
                sent.push((reverse(transmit.tuple), data, transmit.may_fragment));
            }
            sender.drain_events(now);
            for (mut tuple, data, may_fragment) in sent {
                let end = match way {
                    Way::ToServer => &mut tuple.remote,
                    Way::ToClient => &mut tuple.local,
                };
                end.set_ip((self.translate)(end.ip()));
                self.launch(Packet { at: now + DELAY, way, tuple, data, may_fragment });
            }
        }
    }

    fn launch(&mut self, mut packet: Packet) {
        self.log.push(packet.clone());
        match (self.fate)(&packet) {
            Fate::Deliver => self.flying.push(packet),
            Fate::Lose => {}
            Fate::Delay(more) => {
                packet.at += more;
                self.flying.push(packet);
            }
        }
    }
}

pub(crate) fn endpoint(port: u16, addresses: &[IpAddr]) -> EndpointConfig {
    EndpointConfig {
        port,
        addresses: addresses.to_vec(),
        pairing: PathPairing::Index,
        ..EndpointConfig::default()
    }
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

pub(crate) fn tuple(local: &str, remote: &str) -> FourTuple {
    FourTuple { local: SocketAddr::new(ip(local), 0), remote: SocketAddr::new(ip(remote), 0) }
}

pub(crate) const fn reverse(tuple: FourTuple) -> FourTuple {
    FourTuple { local: tuple.remote, remote: tuple.local }
}

pub(crate) fn client_addresses() -> [IpAddr; 2] {
    [ip("10.0.0.1"), ip("10.0.1.1")]
}

pub(crate) fn server_addresses() -> [IpAddr; 2] {
    [ip("10.0.0.2"), ip("10.0.1.2")]
}

/// The client's paths, as the client sees them.
pub(crate) fn client_paths() -> [FourTuple; 2] {
    [tuple("10.0.0.1", "10.0.0.2"), tuple("10.0.1.1", "10.0.1.2")]
}

/// The first path as the server sees it.
pub(crate) fn at_server() -> FourTuple {
    reverse(client_paths()[0])
}

/// RFC 9260's policies, but streams take turns.
#[derive(Debug)]
pub(crate) struct RoundRobinStreams;

impl PolicyFactory for RoundRobinStreams {
    fn build(&self, cc: &CcConfig, _rng: &mut Rng) -> PolicySet {
        PolicySet { stream_scheduler: Box::new(InTurn(None)), ..PolicySet::rfc9260(cc) }
    }
}

#[derive(Debug)]
struct InTurn(Option<StreamId>);

impl Policy for InTurn {
    fn name(&self) -> &'static str {
        "in turn"
    }
}

impl StreamScheduler for InTurn {
    fn peek(
        &mut self,
        queues: &StreamQueues<'_>,
        eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        queues.after(self.0).map(|m| m.stream).find(|s| eligible(*s))
    }

    fn took(&mut self, _queues: &StreamQueues<'_>, stream: StreamId, _bytes: u32, _done: bool) {
        self.0 = Some(stream);
    }
}
