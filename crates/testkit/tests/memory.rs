//! Memory, counted by the allocator: what an idle association costs, and that nothing a peer does
//! makes it grow.

mod counting;

use std::sync::Arc;

use bytes::Bytes;
use counting::{KIB, held};
use polypath_proto::config::{AssocConfig, EndpointConfig, PathPairing};
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{Endpoint, RecvFrom, SendOptions, State};
use polypath_testkit::scripted_peer::{self, ScriptedPeer, drain_packets, victim_tuple};
use polypath_testkit::world::{HostId, World, address, tuple};
use polypath_wire::{DataFlags, Parameter, ParamsBuf};

fn endpoint(host: HostId, port: u16, paths: usize) -> Endpoint {
    let config = EndpointConfig {
        port,
        addresses: (0..paths).map(|link| address(host, link)).collect(),
        pairing: PathPairing::Index,
        max_associations: 2000,
        max_associations_per_address: 2000,
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Rng::from_u64(port.into()))
}

/// Hands the packets of each to the other until both are silent.
fn converse(a: &mut Endpoint, b: &mut Endpoint, now: Time) {
    let mut packet = Vec::with_capacity(2048);
    let mut pass = |from: &mut Endpoint, to: &mut Endpoint| {
        let mut any = false;
        loop {
            packet.clear();
            let Some(transmit) = from.poll_transmit(now, &mut packet) else { return any };
            let t = transmit.tuple;
            let back = polypath_proto::FourTuple { local: t.remote, remote: t.local };
            to.handle_datagram(now, back, &packet);
            any = true;
        }
    };
    while pass(a, b) | pass(b, a) {}
    while a.poll_event().is_some() || b.poll_event().is_some() {}
}

#[test]
fn an_idle_association_costs_less_than_8_kib() {
    const COUNT: u16 = 1000;
    for paths in [1, 2, 3] {
        let now = Time::ZERO;
        let mut server = endpoint(HostId::SERVER, 7, paths);
        let tuples: Vec<_> = (0..paths).map(|link| tuple(HostId::CLIENT, link)).collect();
        // One client endpoint per association: the server tells them apart by port.
        let mut clients: Vec<_> =
            (0..COUNT).map(|i| endpoint(HostId::CLIENT, 10_000 + i, paths)).collect();
        let before = held();
        for client in &mut clients {
            client
                .connect(now, &tuples, 7, Arc::new(AssocConfig::default()))
                .expect("nothing speaks against it");
            converse(client, &mut server, now);
        }
        assert_eq!(server.associations().count(), usize::from(COUNT));
        let both = (held() - before) / i64::from(COUNT);
        // Ending all of them at the server tells its share.
        let full = held();
        drop(server);
        let server_share = (full - held()) / i64::from(COUNT);
        let client_share = both - server_share;
        println!("{paths} paths: {server_share} bytes at the server, {client_share} at the client");
        assert!(server_share < 8 * KIB, "{paths} paths: {server_share} bytes at the server");
        assert!(client_share < 8 * KIB, "{paths} paths: {client_share} bytes at the client");
    }
}

/// What two endpoints may hold beyond the buffers they were given: chunk bookkeeping, queues,
/// packets under way.
const CONSTANT: i64 = 256 * KIB;

#[test]
fn a_transfer_holds_its_buffers_and_a_constant() {
    const BUFFER: u32 = 256 << 10;
    let assoc = Arc::new(AssocConfig {
        send_buffer: BUFFER.into(),
        receive_buffer: BUFFER,
        ..AssocConfig::default()
    });
    let config =
        || EndpointConfig { port: 5000, assoc: assoc.clone(), ..EndpointConfig::default() };
    let delays = [5, 60].map(Duration::from_millis);
    let mut world = World::new([config(), config()], &delays, 1);
    let client = world.connect(HostId::CLIENT, 2, assoc.clone());
    let second = Time::from_secs(1);
    world.run_until(second, |_| false).expect("no trouble");
    for link in world.links_mut() {
        link.loss = 0.02;
    }
    let server = world.host(HostId::SERVER).endpoint.associations().next().expect("accepted");
    let (mut worst, start) = (0, held());
    let data = Bytes::from(vec![5; 4000]);
    // The reader sleeps most of the time, so that all buffers fill.
    for round in 0..3000_u32 {
        let now = world.now();
        while let Some(assoc) = world.assoc_mut(HostId::CLIENT, client) {
            if assoc.send(now, StreamId(0), data.clone(), SendOptions::default()).is_err() {
                break;
            }
        }
        if round % 50 < 5 {
            let assoc = world.assoc_mut(HostId::SERVER, server).expect("established");
            while assoc.recv(now, RecvFrom::Any).is_some() {}
        }
        world.run_for(Duration::from_millis(10)).expect("no trouble");
        world.host(HostId::CLIENT).events.clear();
        world.host(HostId::SERVER).events.clear();
        worst = worst.max(held() - start);
    }
    // The log and the links of the world hold packets too: at most what is in flight, and 256
    // packets.
    let world_share = i64::from(BUFFER) + 256 * 1500;
    // `data` is shared by all messages in the send buffer, so only the receiver holds payload.
    let bound = i64::from(BUFFER) + CONSTANT + world_share;
    println!("{worst} bytes held at most, {bound} allowed");
    assert!(worst < bound, "{worst} bytes held, {bound} allowed");
    let stats = world.assoc(HostId::SERVER, server).expect("alive").stats();
    assert!(stats.bytes_delivered > 1 << 20, "the transfer went on: {stats:?}");
}

#[test]
fn an_init_flood_leaves_nothing_behind() {
    let mut victim = scripted_peer::victim(AssocConfig::default(), 1);
    let flood = |victim: &mut Endpoint, from: u32, count: u32| {
        let mut packet = Vec::with_capacity(2048);
        for tag in from..from + count {
            // 20,000 a second: more than one network gets replies.
            let now = Time::from_millis(u64::from(tag) / 20);
            victim.handle_datagram(
                now,
                victim_tuple(),
                &scripted_peer::init(tag, ParamsBuf::new()),
            );
            packet.clear();
            while victim.poll_transmit(now, &mut packet).is_some() {
                packet.clear();
            }
        }
    };
    flood(&mut victim, 1, 1000);
    let before = held();
    flood(&mut victim, 1001, 100_000);
    let during = held() - before;
    assert!(during <= 18 * KIB, "{during} bytes more with 100000 INITs");
    // A second of silence, and one more.
    flood(&mut victim, 150_000, 1);
    let grown = held() - before;
    assert!(grown <= 0, "{grown} bytes more after 100000 INITs");
    assert_eq!(victim.associations().count(), 0);
}

#[test]
fn an_init_with_a_thousand_addresses_is_bounded() {
    let params: ParamsBuf = (0..1000_u16)
        .map(|i| {
            let [high, low] = i.to_be_bytes();
            Parameter::Ipv4([192, 168, high, low].into())
        })
        .collect();
    let start = held();
    let mut p = ScriptedPeer::connect_with(AssocConfig::default(), 1, params);
    let sent = p.advance_time(Duration::from_secs(1));
    let grown = held() - start;
    let now = p.now;
    assert!(p.assoc().view(now).paths.len() <= polypath_proto::config::MAX_PATHS);
    assert!(sent.len() <= 64, "{} packets to addresses that nobody verified", sent.len());
    drop(sent);
    assert!(grown < 64 * KIB, "{grown} bytes for an association with bogus addresses");
}

#[test]
fn tiny_chunks_out_of_order_stay_within_the_memory_bound() {
    const BUFFER: u32 = 64 << 10;
    let config =
        AssocConfig { receive_buffer: BUFFER, heartbeat_interval: None, ..AssocConfig::default() };
    for fragments in [false, true] {
        let mut p = ScriptedPeer::connect(config.clone(), 1);
        let start = held();
        p.tsn = p.tsn.next();
        let mut worst = 0;
        for i in 0..60_000_u16 {
            let mut tiny = p.data(i % 16, i / 16, b"x");
            if fragments {
                tiny.flags = DataFlags::default();
            }
            p.tsn = p.tsn.next();
            drop(p.send_chunk(&tiny));
            p.events.clear();
            worst = worst.max(held() - start);
            if p.assoc().state() == State::Closed {
                break;
            }
        }
        // Twice the buffer and 64 KiB are granted; sets of TSNs and streams take a constant beside
        // them.
        let bound = 2 * i64::from(BUFFER) + 64 * KIB + 32 * KIB;
        println!("fragments {fragments}: {worst} bytes at most, {bound} allowed");
        assert!(worst < bound, "fragments {fragments}: {worst} bytes held, {bound} allowed");
    }
}

#[test]
fn duplicates_and_requests_without_end_leave_nothing_behind() {
    let config = AssocConfig { heartbeat_interval: None, ..AssocConfig::default() };
    let mut p = ScriptedPeer::connect(config, 1);
    let data = p.data(0, 0, b"again and again");
    let duplicate = p.packet().push_chunk(&data).build();
    let heartbeat = p.packet().push_chunk(&polypath_wire::HeartbeatRepr { info: &[3; 40] }).build();
    let unknown = p.packet().push_raw(0xea, 0, &[0; 400]).build();
    let storm = |p: &mut ScriptedPeer, rounds: usize| {
        for _ in 0..rounds {
            for packet in [&duplicate, &heartbeat, &unknown] {
                // The victim has no time to answer each of them.
                p.victim.handle_datagram(p.now, victim_tuple(), packet);
            }
        }
        drop(drain_packets(&mut p.victim, p.now));
        while p.victim.poll_event().is_some() {}
    };
    storm(&mut p, 1000);
    let before = held();
    storm(&mut p, 20_000);
    let grown = held() - before;
    assert!(grown < KIB, "{grown} bytes more after 60000 packets");
}
