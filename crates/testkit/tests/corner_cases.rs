//! Cases at the edge that belong to no single part: docs/compliance/corner-cases.md lists them all.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use polypath_policies::{PolicySpec, factory};
use polypath_proto::config::{AssocConfig, EndpointConfig, SackPath};
use polypath_proto::ids::{PathId, StreamId};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{
    AssocHandle, CloseReason, Endpoint, Event, FourTuple, RecvFrom, SendError, SendOptions, State,
};
use polypath_testkit::world::{HostId, LogEntry, World};
use polypath_wire::chunk::kind;

const SECOND: Duration = Duration::from_secs(1);
const CLIENT: HostId = HostId::CLIENT;
const SERVER: HostId = HostId::SERVER;

/// An association over two paths whose schedulers use both.
fn connected(config: AssocConfig) -> (World, AssocHandle, AssocHandle) {
    connected_with(config, &PolicySpec::default())
}

fn connected_with(config: AssocConfig, spec: &PolicySpec) -> (World, AssocHandle, AssocHandle) {
    let policies = factory(spec).expect("registered names");
    let assoc = Arc::new(AssocConfig { policies, ..config });
    let end = |port| EndpointConfig { port, assoc: assoc.clone(), ..EndpointConfig::default() };
    let delays = [Duration::from_millis(5), Duration::from_millis(20)];
    let mut world = World::new([end(5000), end(5001)], &delays, 1);
    let client = world.connect(CLIENT, 2, assoc);
    world.run_for(5 * SECOND).expect("no trouble");
    let server = world.host(SERVER).endpoint.associations().next().expect("accepted");
    (world, client, server)
}

fn send(world: &mut World, client: AssocHandle, data: Bytes) -> Result<(), SendError> {
    let now = world.clock(CLIENT);
    let assoc = world.assoc_mut(CLIENT, client).expect("it lives");
    assoc.send(now, StreamId(0), data, SendOptions::default()).map(drop)
}

fn read(world: &mut World, server: AssocHandle) -> Vec<Bytes> {
    let now = world.clock(SERVER);
    let Some(assoc) = world.assoc_mut(SERVER, server) else { return Vec::new() };
    core::iter::from_fn(|| assoc.recv(now, RecvFrom::Any)).map(|m| m.data).collect()
}

fn pattern(len: usize) -> Bytes {
    (0..len).map(|i| (i % 251) as u8).collect()
}

#[test]
fn messages_around_64_kib_arrive_whole_over_paths_of_different_mtu() {
    for path_mtu in [576, 1500, 9000] {
        let (mut world, client, server) =
            connected(AssocConfig { path_mtu, ..AssocConfig::default() });
        for len in [65_534, 65_535, 65_536, 65_537, 200_000] {
            send(&mut world, client, pattern(len)).expect("there is room");
            world.run_for(20 * SECOND).expect("no trouble");
            assert_eq!(read(&mut world, server), [pattern(len)], "{len} bytes, MTU {path_mtu}");
        }
    }
}

#[test]
fn a_message_larger_than_the_send_buffer_is_refused_and_one_larger_than_the_peers_is_not() {
    let config = AssocConfig { send_buffer: 10_000, ..AssocConfig::default() };
    let (mut world, client, _) = connected(config);
    let refused = send(&mut world, client, pattern(10_001));
    assert!(matches!(refused, Err(SendError::BadSize { .. })), "{refused:?}");
    // Whether the peer takes it in parts is not known before.
    let config = AssocConfig { receive_buffer: 10_000, ..AssocConfig::default() };
    for partial_delivery in [None, Some(4_000)] {
        let (mut world, client, server) =
            connected(AssocConfig { partial_delivery, ..config.clone() });
        send(&mut world, client, pattern(30_000)).expect("the send buffer holds it");
        let mut got = Vec::new();
        for _ in 0..60 {
            world.run_for(SECOND).expect("no trouble");
            got.extend(read(&mut world, server).concat());
        }
        if partial_delivery.is_some() {
            assert_eq!(got, pattern(30_000));
            continue;
        }
        let assoc = world.assoc(CLIENT, client).expect("not removed");
        assert_eq!(assoc.close_reason(), Some(&CloseReason::PeerAbort { cause: Some(13) }));
        assert_eq!(assoc.abort_reason(), "message is larger than this receiver takes");
    }
}

#[test]
fn a_closed_window_is_probed_over_the_path_that_lives() {
    for dead in [0, 1] {
        let config = AssocConfig {
            receive_buffer: 20_000,
            heartbeat_interval: Some(2 * SECOND),
            ..AssocConfig::default()
        };
        let (mut world, client, server) = connected(config);
        for _ in 0..40 {
            send(&mut world, client, pattern(1000)).expect("there is room");
        }
        world.run_for(5 * SECOND).expect("no trouble");
        // Nobody reads, the window is closed, and now one path dies.
        world.set_up(dead, false);
        world.run_for(600 * SECOND).expect("no trouble");
        let state = world.assoc(CLIENT, client).expect("it lives").state();
        assert_eq!(state, State::Established, "path {dead} is dead");
        let mut got = 0;
        for _ in 0..400 {
            got += read(&mut world, server).len();
            world.run_for(SECOND).expect("no trouble");
        }
        assert_eq!(got, 40, "path {dead} is dead");
    }
}

/// The latest packet with DATA that reached the server over `link`.
fn latest_data(world: &World, link: usize) -> Bytes {
    let from = IpAddr::from([10, 0, link as u8, 1]);
    let is_data = |packet: &&LogEntry| {
        packet.tuple.local.ip() == from && packet.bytes.get(12) == Some(&kind::DATA)
    };
    world.log.entries().iter().rev().find(is_data).expect("data was sent").bytes.clone()
}

#[test]
fn a_dead_path_fails_though_the_window_is_shut_for_what_was_lost_on_it() {
    for heartbeat_interval in [None, Some(30 * SECOND)] {
        let config = AssocConfig {
            receive_buffer: 10_000,
            heartbeat_interval,
            potentially_failed: None,
            ..AssocConfig::default()
        };
        let spec = PolicySpec { retransmission: "same".into(), ..PolicySpec::default() };
        let (mut world, client, server) = connected_with(config, &spec);
        world.set_up(0, false);
        for _ in 0..40 {
            send(&mut world, client, pattern(1000)).expect("there is room");
        }
        let mut got = 0;
        for _ in 0..900 {
            got += read(&mut world, server).len();
            world.run_for(SECOND).expect("no trouble");
            // The network doubles a packet now and then: its SACK says that the window is shut.
            let doubled = latest_data(&world, 1);
            world.inject_packet(SERVER, 1, Duration::ZERO, doubled);
        }
        assert_eq!(got, 40, "{heartbeat_interval:?}");
    }
}

#[test]
fn a_shutdown_waits_for_a_window_that_opens_late() {
    let config = AssocConfig { receive_buffer: 4000, ..AssocConfig::default() };
    let (mut world, client, server) = connected(config);
    for _ in 0..20 {
        send(&mut world, client, pattern(1000)).expect("there is room");
    }
    world.run_for(5 * SECOND).expect("no trouble");
    let now = world.clock(CLIENT);
    world.assoc_mut(CLIENT, client).expect("it lives").shutdown(now);
    world.run_for(60 * SECOND).expect("no trouble");
    let mut got = 0;
    for _ in 0..300 {
        got += read(&mut world, server).len();
        world.run_for(SECOND).expect("no trouble");
    }
    assert_eq!(got, 20);
    for host in [CLIENT, SERVER] {
        let closed = |(_, e): &(_, Event)| *e == Event::Closed(CloseReason::Shutdown);
        assert!(world.host(host).events.iter().any(closed));
    }
}

#[test]
fn clocks_may_go_backward_and_hours_forward() {
    let (mut world, client, server) = connected(AssocConfig::default());
    let hour = 3600 * SECOND;
    let jumps = [(5 * hour, false), (3 * SECOND, true), (10 * SECOND, true), (hour, false)];
    let mut got = Vec::new();
    for (i, (by, back)) in jumps.into_iter().enumerate() {
        for host in [CLIENT, SERVER] {
            send(&mut world, client, pattern(5000 + i)).expect("there is room");
            // In the middle of the transfer.
            world.run_for(Duration::from_millis(7)).expect("no trouble");
            world.jump_clock(host, by, back);
            world.run_for(120 * SECOND).expect("no trouble");
            got.extend(read(&mut world, server));
        }
    }
    let sent: Vec<Bytes> = (0..4).flat_map(|i| [pattern(5000 + i), pattern(5000 + i)]).collect();
    assert_eq!(got, sent);
    for (host, handle) in [(CLIENT, client), (SERVER, server)] {
        assert_eq!(world.assoc(host, handle).expect("it lives").state(), State::Established);
    }
}

/// Both endpoints talk until neither has anything to say, 10 ms per packet's way.
fn converse(ends: &mut [Endpoint; 2], now: &mut Time, rounds: usize) -> Vec<FourTuple> {
    let (mut used, mut buf) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        *now += Duration::from_millis(10);
        for from in [0, 1] {
            if ends[from].poll_timeout().is_some_and(|at| at <= *now) {
                ends[from].handle_timeout(*now);
            }
            while let Some(transmit) = {
                buf.clear();
                ends[from].poll_transmit(*now, &mut buf)
            } {
                let FourTuple { local, remote } = transmit.tuple;
                used.push(transmit.tuple);
                let back = FourTuple { local: remote, remote: local };
                ends[1 - from].handle_datagram(*now, back, &buf);
            }
            while ends[from].poll_event().is_some() {}
        }
    }
    used
}

#[test]
fn ipv4_and_ipv6_paths_carry_one_association() {
    let v4 = |host| IpAddr::from([10, 0, 0, host]);
    let v6 = |host| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, host]);
    let policies = factory(&PolicySpec::default()).expect("registered names");
    let assoc = Arc::new(AssocConfig { policies, ..AssocConfig::default() });
    let end = |port: u16, addresses: Vec<IpAddr>| {
        let config =
            EndpointConfig { port, addresses, assoc: assoc.clone(), ..EndpointConfig::default() };
        Endpoint::new(config, Rng::from_u64(port.into()))
    };
    let mut ends = [end(1, vec![v4(1), v6(1)]), end(2, vec![v4(2), v6(2)])];
    let at = |ip| SocketAddr::new(ip, 0);
    let paths = [
        FourTuple { local: at(v4(1)), remote: at(v4(2)) },
        FourTuple { local: at(v6(1)), remote: at(v6(2)) },
    ];
    let mut now = Time::from_secs(1);
    let client = ends[0].connect(now, &paths, 2, assoc).expect("it may");
    converse(&mut ends, &mut now, 200);
    let message = pattern(100_000);
    let order = SendOptions::default();
    let opened = ends[0].association_mut(client).expect("it lives");
    opened.send(now, StreamId(0), message.clone(), order).expect("there is room");
    let used = converse(&mut ends, &mut now, 500);
    let server = ends[1].associations().next().expect("accepted");
    let accepted = ends[1].association_mut(server).expect("it lives");
    assert_eq!(accepted.recv(now, RecvFrom::Any).expect("it arrived").data, message);
    let families: Vec<bool> =
        used.iter().filter(|t| t.remote.port() == 0).map(|t| t.remote.is_ipv4()).collect();
    let (four, six) = (families.iter().filter(|v| **v).count(), families.len());
    assert!(four > 20 && six - four > 20, "{four} of {six} packets took IPv4");
    // Headers differ, and so does what fits.
    let view = ends[0].association(client).expect("it lives").view(now);
    let pmdcs: Vec<u32> = view.paths.iter().map(|p| p.pmdcs).collect();
    assert_eq!(pmdcs[0] - pmdcs[1], 20);
}

/// RFC 9260 section 8.2: an inactive path is not used while another one is active. The peer, which
/// may send no heartbeats, would hear nothing of what arrived but by its timeouts.
#[test]
fn sacks_leave_a_primary_path_that_failed() {
    let mut config = AssocConfig {
        heartbeat_interval: Some(SECOND),
        path_max_retrans: 1,
        ..AssocConfig::default()
    };
    config.sack.path = SackPath::Primary;
    let (mut world, client, server) = connected(config);
    let primary = world.assoc(SERVER, server).expect("it lives").path_tuple(PathId(0));
    world.set_up(0, false);
    world.run_for(20 * SECOND).expect("no trouble");
    let failed = world.now();
    let data = pattern(50_000);
    send(&mut world, client, data.clone()).expect("room");
    world.run_for(SECOND).expect("no trouble");
    assert_eq!(read(&mut world, server), [data]);
    let sack = |e: &&LogEntry| matches!(e.bytes.get(12), Some(&kind::SACK | &kind::NR_SACK));
    let late = world.log.entries().iter().filter(|e| e.from == SERVER && e.at >= failed);
    let mut sacks = late.filter(sack).peekable();
    assert!(sacks.peek().is_some());
    assert!(sacks.all(|e| Some(e.tuple) != primary), "a SACK went the way that failed");
}
