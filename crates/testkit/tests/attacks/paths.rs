//! Addresses: claimed, spoofed, moved (numbers 5, 6, 21, 24, 27).

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use polypath_policies::{PolicySpec, factory};
use polypath_proto::config::{AssocConfig, EndpointConfig, MAX_PATHS, PathPairing};
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathState;
use polypath_proto::{Endpoint, FourTuple, PathId};
use polypath_testkit::packet::{PacketBuilder, raw_chunks, reseal_checksum};
use polypath_testkit::scripted_peer::{
    PORTS, ScriptedPeer, count_chunks, data_tsns, drain_packets, init, read_init_ack, victim_tuple,
};
use polypath_testkit::world::{HostId, address};
use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, CookieEchoChunk, HeartbeatRepr, Parameter, ParamsBuf, ShutdownChunk};

use super::counting::KIB;
use super::meter::{Bound, Meter, SILENCE, Sent, packets, tell};
use super::{SECOND, assert_well, quiet};

pub(super) const VICTIM: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 66));

/// Heartbeats per address, and nothing but heartbeats of at most 100 bytes, IP header included.
pub(super) fn probes(sent: &[Sent], proven: IpAddr) -> BTreeMap<IpAddr, u32> {
    let mut probes = BTreeMap::new();
    for (tuple, packet) in sent.iter().filter(|(tuple, _)| tuple.remote.ip() != proven) {
        let kinds: Vec<u8> = raw_chunks(packet).map(|raw| raw.kind).collect();
        assert_eq!(kinds, [kind::HEARTBEAT], "{}", tell(sent));
        assert!(packet.len() + 40 <= 100, "a heartbeat of {} bytes", packet.len());
        *probes.entry(tuple.remote.ip()).or_default() += 1;
    }
    probes
}

fn many_addresses() -> ParamsBuf {
    (0..1000_u16)
        .map(|i| {
            let [high, low] = i.to_be_bytes();
            Parameter::Ipv4([192, 168, high, low].into())
        })
        .collect()
}

#[test]
fn a05_an_init_with_a_thousand_addresses() {
    for (pairing, path_max_retrans) in
        [(PathPairing::Index, 5), (PathPairing::Mesh, 5), (PathPairing::Mesh, 0)]
    {
        // Heartbeats are on: an address that does not answer must not get one every 30 s for ever.
        let assoc = AssocConfig { path_max_retrans, ..AssocConfig::default() };
        let config = EndpointConfig {
            port: PORTS.1,
            addresses: (0..4).map(|link| address(HostId::SERVER, link)).collect(),
            pairing,
            assoc: assoc.into(),
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(config, Rng::from_u64(1));
        let (mut m, mut now) = (Meter::new(), Time::ZERO);
        let sent = m.hit(&mut endpoint, now, &init(9, many_addresses()));
        let ack = read_init_ack(&sent[0].1).expect("INIT ACK");
        let echo = CookieEchoChunk { cookie: &ack.cookie };
        let echo = PacketBuilder::new(PORTS.0, PORTS.1, ack.tag).push_chunk(&echo).build();
        m.begin();
        let mut sent = m.hit(&mut endpoint, now, &echo);
        let handle = endpoint.associations().next().expect("accepted");
        endpoint
            .association_mut(handle)
            .expect("it lives")
            .send(now, StreamId(0), vec![1; 9000].into(), Default::default())
            .expect("room");
        sent.extend(m.drain(&mut endpoint, now));
        // The attacker answers for its own address for an hour, as it must to keep the association.
        for _ in 0..360 {
            let more = m.advance(&mut endpoint, &mut now, 10 * SECOND);
            for (tuple, packet) in &more {
                if tuple.remote.ip() == victim_tuple().remote.ip() {
                    answer(&mut endpoint, now, ack.tag, packet);
                }
            }
            sent.extend(more);
        }
        let probed = probes(&sent, victim_tuple().remote.ip());
        assert!(probed.len() < 16, "{} unverified addresses", probed.len());
        let most = probed.values().max().copied().unwrap_or_default();
        assert!(most <= path_max_retrans + 1, "{pairing:?}: {most} heartbeats to one address");
        assert!(!probed.is_empty());
        let view = endpoint.association(handle).expect("alive").view(now);
        assert!(view.paths.len() <= MAX_PATHS);
        // 15 addresses with 6 heartbeats each, and what the attacker asked for itself.
        let own = sent.iter().filter(|s| s.0.remote.ip() == victim_tuple().remote.ip()).count();
        let bound = Bound {
            packets_out: 15 * u64::from(path_max_retrans + 1) + own as u64,
            bytes_out: 100 * 15 * u64::from(path_max_retrans + 1) + 1500 * own as u64,
            memory: 64 * KIB,
            work_per_packet: 20_000,
        };
        m.settle(5, "INIT with 1000 addresses, an hour", bound);
    }
}

/// The attacker's own answers: heartbeats come back, data is acknowledged.
pub(super) fn answer(endpoint: &mut Endpoint, now: Time, tag: u32, packet: &[u8]) {
    for raw in raw_chunks(packet) {
        let reply = PacketBuilder::new(PORTS.0, PORTS.1, tag);
        let reply = match raw.decode() {
            Ok(Chunk::Heartbeat(heartbeat)) => reply.push_chunk(&heartbeat.to_ack()),
            Ok(Chunk::Data(data)) => reply.push_chunk(&polypath_wire::SackRepr {
                flags: 0,
                cumulative_tsn: data.tsn,
                a_rwnd: 1 << 20,
                gap_blocks: &[],
                duplicates: &[],
            }),
            _ => continue,
        };
        endpoint.handle_datagram(now, victim_tuple(), &reply.build());
    }
}

/// A scripted peer that claims a stranger's address, and the HEARTBEAT that went there. Its victim
/// would use all paths in turn.
fn claimer() -> (ScriptedPeer, PathId, Vec<u8>) {
    let policies = factory(&PolicySpec::default()).expect("registered names");
    let config = AssocConfig { policies, ..quiet() };
    let listed = [Parameter::Ipv4([10, 0, 0, 1].into()), Parameter::Ipv4([192, 0, 2, 66].into())];
    let mut p = ScriptedPeer::connect_with(config, 1, listed.into_iter().collect());
    let now = p.now;
    p.victim.handle_timeout(now);
    let view = p.assoc().view(now);
    let path = view.paths.iter().find(|v| v.state == PathState::Unconfirmed).expect("claimed").id;
    let probe = drain_packets(&mut p.victim, now)
        .into_iter()
        .find(|packet| raw_chunks(packet).any(|raw| raw.kind == kind::HEARTBEAT));
    (p, path, probe.expect("the address is probed"))
}

fn heartbeat_ack(p: &ScriptedPeer, info: &[u8]) -> Vec<u8> {
    let length = (info.len() as u16 + 4).to_be_bytes();
    let value = [&[0, 1][..], &length, info].concat();
    p.packet().push_raw(kind::HEARTBEAT_ACK, 0, &value).build()
}

#[test]
fn a06_forged_heartbeat_acks() {
    let (mut p, path, probe) = claimer();
    let state = |p: &mut ScriptedPeer| {
        let now = p.now;
        p.assoc().view(now).path(path).map(|v| v.state)
    };
    // What the HEARTBEAT carried: the attacker would have to be at that address to know.
    let info: Vec<u8> = raw_chunks(&probe)
        .find_map(|raw| match raw.decode() {
            Ok(Chunk::Heartbeat(heartbeat)) => Some(heartbeat.info().to_vec()),
            _ => None,
        })
        .expect("a heartbeat");
    let mut m = Meter::new();
    for at in 0..info.len() {
        for bit in 0..8 {
            let mut wrong = info.clone();
            wrong[at] ^= 1 << bit;
            let packet = heartbeat_ack(&p, &wrong);
            assert!(m.hit(&mut p.victim, p.now, &packet).is_empty());
            assert_eq!(state(&mut p), Some(PathState::Unconfirmed), "byte {at} bit {bit}");
        }
    }
    for len in 0..info.len() {
        let packet = heartbeat_ack(&p, &info[..len]);
        m.hit(&mut p.victim, p.now, &packet);
        assert_eq!(state(&mut p), Some(PathState::Unconfirmed), "{len} bytes");
    }
    m.settle(6, "HEARTBEAT ACK with a wrong nonce or path", SILENCE);
    // The right one proves the address, whatever way it came; again it proves nothing.
    let right = heartbeat_ack(&p, &info);
    p.deliver_packet(&right);
    assert_eq!(state(&mut p), Some(PathState::Active));
    m.begin();
    let srtt = |p: &mut ScriptedPeer| {
        let now = p.now;
        p.assoc().view(now).path(path).and_then(|v| v.srtt)
    };
    let before = srtt(&mut p);
    p.advance_time(SECOND);
    for _ in 0..100 {
        assert!(m.hit(&mut p.victim, p.now, &right).is_empty());
    }
    assert_eq!(srtt(&mut p), before, "a replay measures nothing");
    m.settle(6, "HEARTBEAT ACK replayed", SILENCE);
}

#[test]
fn a06_nothing_but_heartbeats_goes_to_an_address_that_nobody_proved() {
    let (mut p, path, _) = claimer();
    let mut m = Meter::new();
    let now = p.now;
    assert!(!p.assoc().set_primary(now, path), "it cannot be the primary");
    let message = bytes::Bytes::from(vec![1; 50_000]);
    let order = polypath_proto::SendOptions::default();
    p.assoc().send(now, StreamId(0), message, order).expect("room");
    let heartbeat = p.packet().push_chunk(&HeartbeatRepr { info: b"from there" }).build();
    let claimed = FourTuple {
        local: SocketAddr::new(address(HostId::SERVER, 1), 0),
        remote: SocketAddr::new(VICTIM, 0),
    };
    let data = p.data(0, 0, b"from there, too");
    let data = p.packet().push_chunk(&data).build();
    let mut sent = m.drain(&mut p.victim, now);
    sent.extend(m.hit_from(&mut p.victim, now, claimed, &data));
    sent.extend(m.hit_from(&mut p.victim, now, claimed, &heartbeat));
    let mut now = p.now;
    sent.extend(m.advance(&mut p.victim, &mut now, 30 * SECOND));
    let there: Vec<Sent> =
        sent.iter().filter(|(tuple, _)| tuple.remote.ip() == VICTIM).cloned().collect();
    for (_, packet) in &there {
        let allowed = |k: u8| k == kind::HEARTBEAT || k == kind::HEARTBEAT_ACK;
        assert!(raw_chunks(packet).all(|raw| allowed(raw.kind)), "{}", tell(&there));
    }
    assert!(data_tsns(&packets(&there)).is_empty());
}

#[test]
fn a05_silence_ends_when_the_peer_speaks_from_there() {
    let (mut p, path, _) = claimer();
    p.advance_time(3600 * SECOND);
    let claimed = p.assoc().path_tuple(path).expect("it is a path");
    let heartbeat = p.packet().push_chunk(&HeartbeatRepr { info: b"it is me" }).build();
    let mut m = Meter::new();
    let mut now = p.now;
    // Somebody who has the tag, and spoofs: one heartbeat per packet at most, and not more often
    // than once per RTO.
    let mut probes = 0;
    for _ in 0..100 {
        let mut sent = m.hit_from(&mut p.victim, now, claimed, &heartbeat);
        sent.extend(m.advance(&mut p.victim, &mut now, Duration::from_millis(100)));
        probes += count_chunks(&packets(&sent), kind::HEARTBEAT);
    }
    assert_eq!(probes, 1, "one in ten seconds: the RTO is a minute by now");
    let (packets_out, bytes_out) = (101, m.cost.bytes_in + 100);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(5, "packets spoofed from a claimed address", bound);
    p.now = now;
}

#[test]
fn a21_a_udp_port_does_not_move_without_the_tag() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut elsewhere = victim_tuple();
    elsewhere.remote.set_port(6666);
    let mut m = Meter::new();
    let mut wrong_tag = p.packet().push_chunk(&HeartbeatRepr { info: b"hijack" }).build();
    wrong_tag[7] ^= 1;
    reseal_checksum(&mut wrong_tag);
    let mut bad_cookie = p.cookie_echo.clone();
    bad_cookie[30] ^= 1;
    reseal_checksum(&mut bad_cookie);
    assert!(m.hit_from(&mut p.victim, p.now, elsewhere, &bad_cookie).is_empty());
    m.settle(21, "another UDP port without the tag", SILENCE);
    // A wrong tag is refused as any stranger's is.
    let refused = packets(&m.hit_from(&mut p.victim, p.now, elsewhere, &wrong_tag));
    assert_eq!((refused.len(), count_chunks(&refused, kind::ABORT)), (1, 1));
    // An INIT is answered where it came from, and moves nothing.
    let sent = m.hit_from(&mut p.victim, p.now, elsewhere, &init(5, ParamsBuf::new()));
    assert_eq!(sent[0].0.remote.port(), 6666);
    assert_eq!(p.assoc().path_tuple(PathId(0)), Some(victim_tuple()));
    // With the tag it may be the peer behind a NAT that forgot (RFC 6951 section 5.4): it is asked
    // for a nonce, and nothing but heartbeats counts until that came back.
    let said = p
        .packet()
        .push_chunk(&HeartbeatRepr { info: b"moved" })
        .push_chunk(&Chunk::ShutdownAck)
        .build();
    let sent = m.hit_from(&mut p.victim, p.now, elsewhere, &said);
    let kinds: Vec<u8> =
        sent.iter().flat_map(|(_, packet)| raw_chunks(packet)).map(|raw| raw.kind).collect();
    assert_eq!(kinds, [kind::HEARTBEAT_ACK], "{}", tell(&sent));
    assert_eq!(p.assoc().path_tuple(PathId(0)), Some(victim_tuple()));
    let sent = p.advance_time(SECOND / 10);
    let mut chunks = sent.iter().flat_map(|packet| raw_chunks(packet));
    let asked = chunks.find(|raw| raw.kind == kind::HEARTBEAT).expect("a HEARTBEAT");
    let answer = p.packet().push_raw(kind::HEARTBEAT_ACK, 0, asked.value).build();
    assert_eq!(state_at(&mut p, elsewhere), Some(PathState::Unconfirmed));
    m.hit_from(&mut p.victim, p.now, elsewhere, &answer);
    assert_eq!(state_at(&mut p, elsewhere), Some(PathState::Active));
}

fn state_at(p: &mut ScriptedPeer, tuple: FourTuple) -> Option<PathState> {
    let now = p.now;
    let assoc = p.assoc();
    let view = assoc.view(now);
    view.paths.iter().find(|v| assoc.path_tuple(v.id) == Some(tuple)).map(|v| v.state)
}

#[test]
fn a24_sources_that_are_no_hosts() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let request = init(5, ParamsBuf::new());
    let shutdown = PacketBuilder::new(PORTS.0, PORTS.1, 9)
        .push_chunk(&ShutdownChunk { cumulative_tsn: p.tsn })
        .build();
    let mut m = Meter::new();
    for source in ["224.0.0.1", "255.255.255.255", "0.0.0.0", "239.1.2.3"] {
        let remote = SocketAddr::new(source.parse().expect("an address"), 0);
        let from = FourTuple { remote, ..victim_tuple() };
        for packet in [&request, &shutdown, &p.cookie_echo.clone()] {
            assert!(m.hit_from(&mut p.victim, p.now, from, packet).is_empty(), "{source}");
        }
    }
    m.settle(24, "multicast, broadcast, unspecified source", SILENCE);
    // And they are no addresses of a peer either, nor is our own loopback.
    let listed: ParamsBuf = [[224, 0, 0, 1], [255, 255, 255, 255], [127, 0, 0, 1], [0, 0, 0, 0]]
        .map(|octets| Parameter::Ipv4(octets.into()))
        .into_iter()
        .collect();
    let mut p = ScriptedPeer::connect_with(quiet(), 1, listed);
    let now = p.now;
    assert_eq!(p.assoc().view(now).paths.len(), 1);
    assert_well(&mut p);
}

#[test]
fn a27_camping_on_a_strangers_address() {
    // The attacker's association claims the address of somebody who will want to come from the same
    // SCTP port.
    let (mut p, _, _) = claimer();
    let (mut m, now) = (Meter::new(), p.now);
    let local = SocketAddr::new(address(HostId::SERVER, 0), 0);
    let from = FourTuple { local, remote: SocketAddr::new(VICTIM, 0) };
    let others = [Parameter::Ipv4([192, 0, 2, 66].into()), Parameter::Ipv4([192, 0, 2, 67].into())];
    let request = init(0x1234, others.into_iter().collect());
    // It is served at once: the association that claims its address does not stand in the way.
    let sent = packets(&m.hit_from(&mut p.victim, now, from, &request));
    let ack = sent.first().and_then(|packet| read_init_ack(packet)).expect("INIT ACK");
    let echo = CookieEchoChunk { cookie: &ack.cookie };
    let echo = PacketBuilder::new(PORTS.0, PORTS.1, ack.tag).push_chunk(&echo).build();
    m.hit_from(&mut p.victim, now, from, &echo);
    assert_eq!(p.victim.associations().count(), 2, "each has its own");
    let heartbeat = PacketBuilder::new(PORTS.0, PORTS.1, ack.tag)
        .push_chunk(&HeartbeatRepr { info: b"mine" })
        .build();
    let sent = packets(&m.hit_from(&mut p.victim, now, from, &heartbeat));
    assert_eq!(count_chunks(&sent, kind::HEARTBEAT_ACK), 1, "its packets find its association");
    let bound = Bound { packets_out: 20, bytes_out: 2000, memory: 16 * KIB, work_per_packet: 200 };
    m.settle(27, "camping on an address", bound);
    assert_well(&mut p);
}
