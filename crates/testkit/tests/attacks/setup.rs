//! Set-up: floods, replays, forged cookies, restarts (numbers 2 to 5, 7, 26 to 29, 32, 33, 36).

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{Association, Endpoint, Event, FourTuple, State};
use polypath_testkit::packet::{PacketBuilder, raw_chunks, reseal_checksum};
use polypath_testkit::scripted_peer::{
    self, PORTS, ScriptedPeer, abort_cause, count_chunks, init, read_init_ack, victim, victim_tuple,
};
use polypath_testkit::world::{HostId, address};
use polypath_wire::chunk::kind;
use polypath_wire::{
    AbortChunk, CausesBuf, Chunk, CookieEchoChunk, HeartbeatRepr, Parameter, ParamsBuf,
};

use super::counting::KIB;
use super::meter::{Bound, Meter, SILENCE, packets, tell};
use super::{assert_well, quiet};

/// A stranger's COOKIE ECHO with a cookie that `victim` made for it.
fn stranger(victim: &mut Endpoint, now: Time, tag: u32) -> Vec<u8> {
    victim.handle_datagram(now, victim_tuple(), &init(tag, ParamsBuf::new()));
    let answers = scripted_peer::drain_packets(victim, now);
    let ack = answers.first().and_then(|packet| read_init_ack(packet)).expect("INIT ACK");
    let echo = CookieEchoChunk { cookie: &ack.cookie };
    PacketBuilder::new(PORTS.0, PORTS.1, ack.tag).push_chunk(&echo).build()
}

#[test]
fn a02_replayed_cookie_echoes() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let (echo, mut m) = (p.cookie_echo.clone(), Meter::new());
    for _ in 0..1000 {
        let sent = packets(&m.hit(&mut p.victim, p.now, &echo));
        assert_eq!((sent.len(), count_chunks(&sent, kind::COOKIE_ACK)), (1, 1));
    }
    assert_eq!(p.victim.associations().count(), 1);
    let answers = m.cost.packets_in;
    let bound = Bound {
        packets_out: answers,
        bytes_out: m.cost.bytes_in,
        memory: 4 * KIB,
        work_per_packet: 20,
    };
    m.settle(2, "COOKIE ECHO again, association lives", bound);
    assert_well(&mut p);

    // With a changed port or tag it belongs to nobody (RFC 5062 section 7).
    m.begin();
    for at in [0, 1, 4, 5, 6, 7] {
        for bit in 0..8 {
            let mut forged = echo.clone();
            forged[at] ^= 1 << bit;
            reseal_checksum(&mut forged);
            assert!(m.hit(&mut p.victim, p.now, &forged).is_empty());
        }
    }
    m.settle(2, "COOKIE ECHO with another port or tag", SILENCE);

    // After the victim's application gave up: each cookie is good for one association.
    let now = p.now;
    p.assoc().abort(now, Bytes::new());
    scripted_peer::drain_packets(&mut p.victim, now);
    m.begin();
    for _ in 0..1000 {
        let sent = packets(&m.hit(&mut p.victim, p.now, &echo));
        assert_eq!(count_chunks(&sent, kind::ABORT), sent.len());
    }
    let alive = |a: &Association| a.state() != State::Closed;
    let handles: Vec<_> = p.victim.associations().collect();
    assert!(!handles.iter().any(|h| p.victim.association(*h).is_some_and(alive)));
    m.settle(2, "COOKIE ECHO again after an ABORT", bound);
}

#[test]
fn a02_stale_cookies() {
    let mut endpoint = victim(quiet(), 1);
    let echo = stranger(&mut endpoint, Time::ZERO, 7);
    let mut m = Meter::new();
    for second in 61..161 {
        let sent = m.hit(&mut endpoint, Time::from_secs(second), &echo);
        assert_eq!(count_chunks(&packets(&sent), kind::ERROR), 1, "{}", tell(&sent));
    }
    assert_eq!(endpoint.associations().count(), 0);
    let bytes_out = m.cost.bytes_in;
    m.settle(
        2,
        "COOKIE ECHO, stale",
        Bound { packets_out: 100, bytes_out, memory: 4 * KIB, work_per_packet: 20 },
    );
    // Once its key is gone (an hour, and twice a cookie's life) it is no cookie at all.
    m.begin();
    assert!(m.hit(&mut endpoint, Time::from_secs(3600 + 121), &echo).is_empty());
    m.settle(2, "COOKIE ECHO, its key gone", SILENCE);
}

#[test]
fn a03_cookies_with_a_flipped_bit() {
    let mut endpoint = victim(quiet(), 1);
    let echo = stranger(&mut endpoint, Time::ZERO, 7);
    let mut m = Meter::new();
    for bit in 0..8 * (echo.len() - 16) {
        let mut forged = echo.clone();
        forged[16 + bit / 8] ^= 1 << (bit % 8);
        reseal_checksum(&mut forged);
        let sent = m.hit(&mut endpoint, Time::ZERO, &forged);
        assert!(sent.is_empty(), "bit {bit}: {}", tell(&sent));
    }
    assert_eq!(endpoint.associations().count(), 0);
    m.settle(3, "cookie with a flipped bit, each bit", SILENCE);
    m.hit(&mut endpoint, Time::ZERO, &echo);
    assert_eq!(endpoint.associations().count(), 1, "the unchanged one is good");
}

#[test]
fn a04_a_flood_of_inits() {
    let mut config = EndpointConfig {
        port: PORTS.1,
        addresses: vec![address(HostId::SERVER, 0)],
        assoc: quiet().into(),
        ..EndpointConfig::default()
    };
    config.replies.init_acks = 10_000;
    let mut endpoint = Endpoint::new(config, Rng::from_u64(1));
    let mut m = Meter::new();
    for i in 0..100_000_u32 {
        let [_, a, b, c] = i.to_be_bytes();
        let remote = SocketAddr::new(Ipv4Addr::new(172, a, b, c).into(), 0);
        let from = FourTuple { remote, ..victim_tuple() };
        // 50,000 per second: five times what is answered.
        let now = Time::from_millis(u64::from(i) / 50);
        m.hit_from(&mut endpoint, now, from, &init(i + 1, ParamsBuf::new()));
    }
    assert_eq!(endpoint.associations().count(), 0);
    let bound = Bound {
        packets_out: 3 * 10_000,
        bytes_out: 3 * 3 * 10_000 * 52,
        // The table of networks takes 16 KiB while strangers are many.
        memory: 20 * KIB,
        work_per_packet: 40,
    };
    m.settle(4, "flood of INITs from 100,000 addresses", bound);
}

#[test]
fn a07_a_restart_that_adds_an_address() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut m = Meter::new();
    for tag in 1..1000 {
        let added = [Parameter::Ipv4([192, 0, 2, 66].into())].into_iter().collect();
        let sent = packets(&m.hit(&mut p.victim, p.now, &init(tag, added)));
        assert_eq!(abort_cause(&sent), Some(11));
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in);
    m.settle(
        7,
        "restart with an added address",
        Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 },
    );
    assert_well(&mut p);
}

#[test]
fn a26_inits_in_company_or_with_a_tag() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut m = Meter::new();
    let lone = init(5, ParamsBuf::new());
    let mut tagged = lone.clone();
    tagged[4..8].copy_from_slice(&p.tag.to_be_bytes());
    reseal_checksum(&mut tagged);
    let value = &lone[16..];
    let heartbeat = HeartbeatRepr { info: b"x" };
    let company = [
        PacketBuilder::new(PORTS.0, PORTS.1, 0)
            .push_raw(kind::INIT, 0, value)
            .push_chunk(&heartbeat),
        PacketBuilder::new(PORTS.0, PORTS.1, 0).push_raw(kind::INIT, 0, value).push_raw(
            kind::INIT,
            0,
            value,
        ),
        p.packet().push_chunk(&heartbeat).push_raw(kind::INIT, 0, value),
    ];
    for packet in company.map(PacketBuilder::build).iter().chain([&tagged]) {
        for _ in 0..100 {
            let sent = m.hit(&mut p.victim, p.now, packet);
            let inits = count_chunks(&packets(&sent), kind::INIT_ACK);
            assert_eq!((inits, sent.len()), (0, 0), "{}", tell(&sent));
        }
    }
    m.settle(26, "INIT bundled, or with a tag", SILENCE);
    assert_well(&mut p);
}

#[test]
fn a28_a_cookie_does_not_tell_the_tags() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut m = Meter::new();
    for tag in 1..=1000 {
        let sent = packets(&m.hit(&mut p.victim, p.now, &init(tag, ParamsBuf::new())));
        let ack = read_init_ack(&sent[0]).expect("INIT ACK");
        for tag in [p.tag, p.own_tag] {
            assert!(!ack.cookie.windows(4).any(|bytes| bytes == tag.to_be_bytes()));
        }
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, 3 * m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(28, "INITs for an association that lives", bound);
    assert_well(&mut p);
}

#[test]
fn a29_a_blind_abort_of_a_set_up() {
    let config = EndpointConfig { port: PORTS.1, ..EndpointConfig::default() };
    let mut endpoint = Endpoint::new(config, Rng::from_u64(1));
    let handle = endpoint
        .connect(Time::ZERO, &[victim_tuple()], PORTS.0, quiet().into())
        .expect("nothing speaks against it");
    scripted_peer::drain_packets(&mut endpoint, Time::ZERO);
    let (causes, mut m) = (CausesBuf::new(), Meter::new());
    for reflected in [false, true] {
        let abort = AbortChunk { reflected, causes: causes.as_causes() };
        for tag in [0, 1, u32::MAX] {
            let packet = PacketBuilder::new(PORTS.0, PORTS.1, tag).push_chunk(&abort).build();
            assert!(m.hit(&mut endpoint, Time::ZERO, &packet).is_empty());
        }
    }
    let state = endpoint.association(handle).map(Association::state);
    assert_eq!(state, Some(State::CookieWait));
    m.settle(29, "blind ABORT in COOKIE-WAIT", SILENCE);
}

/// INITs of every size, with nothing in them that has to be reported.
fn inits_of_all_sizes() -> impl Iterator<Item = Vec<u8>> {
    let plain = (0..=15_u8).map(|more| {
        let listed = (0..more).map(|i| Parameter::Ipv4([198, 51, 100, i].into()));
        init(5, listed.collect())
    });
    let unknown = (0..40)
        .map(|more| init(5, core::iter::repeat_n(Parameter::ForwardTsnSupported, more).collect()));
    plain.chain(unknown)
}

#[test]
fn a32_an_init_ack_is_at_most_three_times_the_init() {
    let v4 = |i: u8| IpAddr::from([10, 0, i, 2]);
    let v6 = |i: u16| IpAddr::from([0xfd00, 0, 0, i, 0, 0, 0, 2]);
    let mut m = Meter::new();
    for own in 1..=8_u8 {
        let families: [(Vec<IpAddr>, IpAddr); 3] = [
            ((0..own).map(v4).collect(), [10, 0, 0, 1].into()),
            ((0..own.into()).map(v6).collect(), [0xfd00, 0, 0, 0, 0, 0, 0, 1].into()),
            ((0..own).map(v4).chain((0..own.into()).map(v6)).collect(), [10, 0, 0, 1].into()),
        ];
        for (addresses, source) in families {
            let local = SocketAddr::new(addresses[0], 0);
            let tuple = FourTuple { local, remote: SocketAddr::new(source, 0) };
            let config = EndpointConfig { port: PORTS.1, addresses, ..EndpointConfig::default() };
            let mut endpoint = Endpoint::new(config, Rng::from_u64(1));
            for request in inits_of_all_sizes() {
                m.begin();
                let sent = m.hit_from(&mut endpoint, Time::ZERO, tuple, &request);
                assert_eq!(count_chunks(&packets(&sent), kind::INIT_ACK), 1);
                let (asked, said) = (m.cost.bytes_in, m.cost.bytes_out);
                assert!(said <= 3 * asked, "{own} addresses: {said} bytes for {asked}");
            }
        }
    }
    let bytes_out = 3 * m.cost.bytes_in;
    m.settle(
        32,
        "INIT ACK beside its INIT",
        Bound { packets_out: 1, bytes_out, memory: 4 * KIB, work_per_packet: 60 },
    );
}

#[test]
fn a33_a_restart_is_always_reported() {
    let mut p = ScriptedPeer::connect(quiet(), 1);
    for tag in 100..110 {
        let echo = stranger(&mut p.victim, p.now, tag);
        p.deliver_packet(&echo);
        assert_eq!(p.events.iter().filter(|e| **e == Event::Restarted).count(), tag as usize - 99);
    }
    assert_eq!(p.victim.associations().count(), 1);
}

#[test]
fn a33_restarts_without_end() {
    const RESTARTS: u64 = 10_000;
    let mut p = ScriptedPeer::connect(quiet(), 1);
    let mut m = Meter::new();
    for tag in 1..=RESTARTS {
        // No faster than stateless replies are given.
        p.now += Duration::from_millis(1);
        let request = init(100 + tag as u32, ParamsBuf::new());
        let sent = packets(&m.hit(&mut p.victim, p.now, &request));
        let ack = read_init_ack(&sent[0]).expect("INIT ACK");
        let echo = CookieEchoChunk { cookie: &ack.cookie };
        let echo = PacketBuilder::new(PORTS.0, PORTS.1, ack.tag).push_chunk(&echo).build();
        let sent = packets(&m.hit(&mut p.victim, p.now, &echo));
        assert_eq!(count_chunks(&sent, kind::COOKIE_ACK), 1);
    }
    assert_eq!(p.victim.associations().count(), 1);
    // INIT ACK, COOKIE ACK, and a heartbeat to each address that is to prove itself anew.
    let (packets_out, bytes_out) = (4 * RESTARTS, 3 * m.cost.bytes_in);
    // A used cookie is remembered until it is stale: 65,536 of them at most, in 3 MB.
    let memory = 16 * KIB + 96 * RESTARTS as i64;
    m.settle(33, "restarts", Bound { packets_out, bytes_out, memory, work_per_packet: 60 });
}

#[test]
fn a36_no_address_has_more_than_its_share_of_associations() {
    const SHARE: usize = 8;
    let config = EndpointConfig {
        port: PORTS.1,
        addresses: vec![address(HostId::SERVER, 0)],
        max_associations_per_address: SHARE,
        assoc: quiet().into(),
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config, Rng::from_u64(1));
    let mut m = Meter::new();
    let open = |endpoint: &mut Endpoint, m: &mut Meter, from: FourTuple, port: u16| {
        let mut request = init(u32::from(port), ParamsBuf::new());
        request[..2].copy_from_slice(&port.to_be_bytes());
        reseal_checksum(&mut request);
        let sent = packets(&m.hit_from(endpoint, Time::ZERO, from, &request));
        let Some(ack) = sent.first().and_then(|packet| read_init_ack(packet)) else {
            return abort_cause(&sent);
        };
        let echo = CookieEchoChunk { cookie: &ack.cookie };
        let packet = PacketBuilder::new(port, PORTS.1, ack.tag).push_chunk(&echo).build();
        m.hit_from(endpoint, Time::ZERO, from, &packet);
        None
    };
    let refused = (1..=100)
        .filter(|port| open(&mut endpoint, &mut m, victim_tuple(), *port) == Some(4))
        .count();
    assert_eq!((endpoint.associations().count(), refused), (SHARE, 100 - SHARE));
    let (packets_out, bytes_out) = (m.cost.packets_in, 3 * m.cost.bytes_in);
    m.settle(
        36,
        "100 associations from one address",
        Bound { packets_out, bytes_out, memory: SHARE as i64 * 8 * KIB, work_per_packet: 60 },
    );
    let mut other = victim_tuple();
    other.remote.set_ip([10, 0, 0, 77].into());
    assert_eq!(open(&mut endpoint, &mut m, other, 1), None);
    assert_eq!(endpoint.associations().count(), SHARE + 1, "others are not hindered");
}

#[test]
fn a38_tags_and_tsns_cannot_be_guessed() {
    // Not a proof of a good generator (ChaCha12, seeded by the system's): but a counter or a clock
    // would fail here.
    let mut endpoint = victim(AssocConfig::default(), 1);
    let mut seen = std::collections::BTreeSet::new();
    let mut m = Meter::new();
    for tag in 1..=2000 {
        let request = init(tag, ParamsBuf::new());
        let sent = packets(&m.hit(&mut endpoint, Time::ZERO, &request));
        let Some(Chunk::InitAck(ack)) =
            raw_chunks(&sent[0]).next().and_then(|raw| raw.decode().ok())
        else {
            panic!("INIT ACK expected")
        };
        seen.insert(ack.fixed.initiate_tag >> 8);
        seen.insert(ack.fixed.initial_tsn.0 >> 8);
    }
    assert!(seen.len() > 3990, "{} of 4000 numbers differ in their upper 24 bits", seen.len());
    let (packets_out, bytes_out) = (m.cost.packets_in, 3 * m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(38, "tags and TSNs collected, 2000 of each", bound);
    let other = victim(AssocConfig::default(), 2);
    assert_ne!(format!("{:?}", other), format!("{endpoint:?}"));
}
