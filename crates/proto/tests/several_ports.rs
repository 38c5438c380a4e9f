//! Several SCTP ports behind the same addresses, as one UDP socket has them: an endpoint for each,
//! and whoever owns the socket hands each packet to the endpoint of its destination port.

use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{
    AssocHandle, CloseReason, Endpoint, Event, FourTuple, RecvFrom, SendOptions, State,
};
use polypath_testkit::pair::*;

const PORTS: [u16; 2] = [7, 8];
const NOBODYS: u16 = 9;

/// A client with one port, and a host with one endpoint for each of [`PORTS`].
struct Neighbours {
    now: Time,
    client: Endpoint,
    host: [Endpoint; 2],
    /// What the client sent last.
    last: Vec<u8>,
}

impl Neighbours {
    fn new() -> Self {
        let one = |port, addresses: &[_], seed| {
            let own = endpoint(port, addresses);
            let config = EndpointConfig { refuse_other_ports: true, ..own };
            Endpoint::new(config, Rng::from_u64(seed))
        };
        let host = [1, 2].map(|i| one(PORTS[i as usize - 1], &server_addresses()[..1], i));
        let client = one(CLIENT_PORT, &client_addresses()[..1], 3);
        Self { now: Time::ZERO, client, host, last: Vec::new() }
    }

    fn connect(&mut self, port: u16) -> AssocHandle {
        let config = Arc::new(AssocConfig::default());
        let h = self.client.connect(self.now, &[path()], port, config).unwrap();
        self.run();
        h
    }

    fn send(&mut self, h: AssocHandle, bytes: usize) {
        let data = Bytes::from(vec![7; bytes]);
        let assoc = self.client.association_mut(h).unwrap();
        assoc.send(self.now, StreamId(0), data, SendOptions::default()).unwrap();
    }

    /// A second without delay or loss.
    fn run(&mut self) {
        let Self { now, client, host, last } = self;
        for _ in 0..100 {
            *now += Duration::from_millis(10);
            let mut packet = Vec::new();
            client.handle_timeout(*now);
            while let Some(sent) = client.poll_transmit(*now, &mut packet) {
                assert_eq!(sent.tuple, path());
                let port = destination_port(&packet);
                // What is for nobody is for the first one to refuse.
                let to = PORTS.iter().position(|own| *own == port).unwrap_or(0);
                host[to].handle_datagram(*now, at_server(), &packet);
                *last = std::mem::take(&mut packet);
            }
            for endpoint in &mut *host {
                endpoint.handle_timeout(*now);
                while let Some(sent) = endpoint.poll_transmit(*now, &mut packet) {
                    client.handle_datagram(*now, reverse_tuple(sent.tuple), &packet);
                    packet.clear();
                }
            }
        }
    }

    /// The lengths of the messages that an endpoint of the host has for its application.
    fn read(&mut self, endpoint: usize) -> Vec<usize> {
        let (now, host) = (self.now, &mut self.host[endpoint]);
        let handles: Vec<_> = host.associations().collect();
        let mut lengths = Vec::new();
        for h in handles {
            let assoc = host.association_mut(h).unwrap();
            while let Some(message) = assoc.recv(now, RecvFrom::Any) {
                lengths.push(message.data.len());
            }
        }
        lengths
    }

    fn mtu(&self, h: AssocHandle) -> u32 {
        self.client.association(h).unwrap().view(self.now).paths[0].mtu
    }
}

/// The only one, as the client sees it.
fn path() -> FourTuple {
    client_paths()[0]
}

fn destination_port(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[2], packet[3]])
}

#[test]
fn each_port_has_its_own_associations_over_the_same_addresses() {
    let mut all = Neighbours::new();
    let handles = PORTS.map(|port| all.connect(port));
    for (i, h) in handles.into_iter().enumerate() {
        assert_eq!(all.client.association(h).unwrap().peer_port(), PORTS[i]);
        all.send(h, 100 + i);
    }
    all.run();
    assert_eq!([all.read(0), all.read(1)], [[100], [101]]);
    // An end of one is no end of the other.
    let now = all.now;
    all.client.association_mut(handles[0]).unwrap().shutdown(now);
    all.run();
    let state = |h| all.client.association(h).unwrap().state();
    assert_eq!(handles.map(state), [State::Closed, State::Established]);
}

#[test]
fn a_port_that_nobody_has_is_refused_once() {
    let mut all = Neighbours::new();
    let h = all.connect(PORTS[0]);
    let refused = all.connect(NOBODYS);
    let mut ends = Vec::new();
    while let Some((h, event)) = all.client.poll_event() {
        if let Event::Closed(reason) = event {
            ends.push((h, reason));
        }
    }
    assert_eq!(ends, [(refused, CloseReason::PeerAbort { cause: None })]);
    assert_eq!(all.client.association(h).unwrap().state(), State::Established);
    assert_eq!(all.host.each_ref().map(|host| host.stats().out_of_the_blue), [1, 0]);
}

#[test]
fn what_routers_say_is_heard_by_the_association_of_the_packet_that_they_quote() {
    let mut all = Neighbours::new();
    let handles = PORTS.map(|port| all.connect(port));
    all.send(handles[1], 1000);
    all.run();
    assert_eq!(destination_port(&all.last), PORTS[1]);
    let report = IcmpReport::PacketTooBig { mtu: 1400 };
    assert!(all.client.handle_icmp(all.now, path(), &all.last, report));
    assert_eq!(handles.map(|h| all.mtu(h)), [1500, 1400]);
}

#[test]
fn a_packet_that_the_interface_refuses_is_taken_back_by_the_association_that_sent_it() {
    for which in [0, 1] {
        let mut all = Neighbours::new();
        let handles = PORTS.map(|port| all.connect(port));
        all.send(handles[which], 1400);
        let mut packet = Vec::new();
        let sent = all.client.poll_transmit(all.now, &mut packet).unwrap();
        assert_eq!(sent.assoc, Some(handles[which]));
        all.client.packet_refused(all.now, sent.tuple, &packet, Some(1300));
        let mut mtus = [1500; 2];
        mtus[which] = 1300;
        assert_eq!(handles.map(|h| all.mtu(h)), mtus);
        all.run();
        assert_eq!(all.read(which), [1400]);
    }
}
