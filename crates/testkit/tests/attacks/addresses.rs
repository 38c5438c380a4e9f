//! Addresses that change, and who may change them (numbers 8, 9, 34, 35).

use core::net::IpAddr;
use std::collections::BTreeSet;

use polypath_proto::State;
use polypath_proto::config::MAX_PATHS;
use polypath_proto::time::Time;
use polypath_testkit::packet::{PacketBuilder, reseal_checksum};
use polypath_testkit::scripted_peer::{
    PORTS, ScriptedPeer, abort_cause, count_chunks, init, victim, victim_tuple,
};
use polypath_wire::chunk::kind;
use polypath_wire::param::AsconfRequest;
use polypath_wire::{AsconfChunk, EncodeChunk, Parameter};

use super::authentic::{AUTH_LEN, authentic, config, connect, params};
use super::counting::KIB;
use super::meter::{Bound, Meter, SILENCE, packets, tell};
use super::paths::{VICTIM, answer, probes};
use super::{SECOND, assert_well};

/// An ASCONF that adds addresses and makes the last one primary, `ahead` of the first serial
/// number.
fn asconf(p: &ScriptedPeer, ahead: u32, added: &[IpAddr]) -> Vec<u8> {
    let request =
        |i: usize, address: &IpAddr| AsconfRequest { correlation: i as u32, address: *address };
    let adds = added.iter().enumerate().map(|(i, a)| Parameter::AddIp(request(i, a)));
    let primary = added.last().map(|a| Parameter::SetPrimary(request(99, a)));
    let params: polypath_wire::ParamsBuf = adds.chain(primary).collect();
    let (serial, address) = (p.tsn.0.wrapping_add(ahead), victim_tuple().remote.ip());
    let mut bytes = Vec::new();
    AsconfChunk { serial, address, params: params.as_params() }.encode(&mut bytes);
    bytes
}

/// The packet again, its checksum right, after `change` had its way with its chunks.
fn tampered(packet: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut chunks = packet[12..].to_vec();
    change(&mut chunks);
    let mut packet = [&packet[..12], &chunks].concat();
    reseal_checksum(&mut packet);
    packet
}

fn peers(p: &mut ScriptedPeer) -> usize {
    p.assoc().peer_addresses().len()
}

#[test]
fn a08_addresses_that_nobody_proved_to_be_the_peers_wish() {
    let mut p = connect();
    let good = authentic(&p, &asconf(&p, 0, &[VICTIM]));
    let forgeries = [
        tampered(&good, |chunks| _ = chunks.drain(..AUTH_LEN)),
        tampered(&good, |chunks| *chunks.last_mut().expect("chunks") ^= 1),
        tampered(&good, |chunks| chunks[20] ^= 1),
        // AUTH behind what it should protect.
        tampered(&good, |chunks| chunks.rotate_left(AUTH_LEN)),
    ];
    let mut m = Meter::new();
    let elsewhere = polypath_proto::FourTuple {
        remote: core::net::SocketAddr::new(VICTIM, 0),
        ..victim_tuple()
    };
    for forgery in &forgeries {
        for _ in 0..250 {
            for from in [victim_tuple(), elsewhere] {
                let sent = m.hit_from(&mut p.victim, p.now, from, forgery);
                assert!(sent.is_empty(), "{}", tell(&sent));
            }
        }
    }
    assert_eq!(peers(&mut p), 1);
    m.settle(
        8,
        "ASCONF without AUTH, or with a wrong HMAC",
        Bound { work_per_packet: 4, ..SILENCE },
    );
    // The unchanged one is good.
    let sent = packets(&m.hit(&mut p.victim, p.now, &good));
    assert_eq!((count_chunks(&sent, kind::ASCONF_ACK), peers(&mut p)), (1, 2));
}

#[test]
fn a09_a_victims_address_added_and_made_primary() {
    let mut p = connect();
    let mut m = Meter::new();
    let asked = authentic(&p, &asconf(&p, 0, &[VICTIM]));
    let mut sent = m.hit(&mut p.victim, p.now, &asked);
    let (now, data) = (p.now, vec![1; 100_000].into());
    let queued = p.assoc().send(now, polypath_proto::ids::StreamId(0), data, Default::default());
    queued.expect("room");
    let mut new = m.drain(&mut p.victim, now);
    // For an hour the attacker acknowledges what comes to itself.
    for _ in 0..3600 {
        for (tuple, packet) in &new {
            if tuple.remote.ip() == victim_tuple().remote.ip() {
                answer(&mut p.victim, p.now, p.tag, packet);
            }
        }
        sent.append(&mut new);
        new = m.advance(&mut p.victim, &mut p.now, SECOND);
    }
    let probed = probes(&sent, victim_tuple().remote.ip());
    assert_eq!(probed.keys().collect::<Vec<_>>(), [&VICTIM]);
    assert!(probed[&VICTIM] <= 6, "{} heartbeats", probed[&VICTIM]);
    assert!(p.assoc().sender_queue_info().used == 0, "all went to the attacker itself");
    // 100,000 bytes in packets of 1500 and their answers, and six heartbeats.
    let bound =
        Bound { packets_out: 100, bytes_out: 120_000, memory: 160 * KIB, work_per_packet: 4000 };
    m.settle(9, "a victim's address added, made primary, an hour", bound);
}

#[test]
fn a09_addresses_without_end() {
    let mut p = connect();
    let mut m = Meter::new();
    let mut seen = BTreeSet::new();
    for i in 0..1000_u32 {
        let [_, _, high, low] = i.to_be_bytes();
        let asked = authentic(&p, &asconf(&p, i, &[[192, 168, high, low].into()]));
        for (tuple, _) in m.hit(&mut p.victim, p.now, &asked) {
            seen.insert(tuple.remote.ip());
        }
    }
    let rest = m.advance(&mut p.victim, &mut p.now, 3600 * SECOND);
    seen.extend(rest.iter().map(|(tuple, _)| tuple.remote.ip()));
    assert!(seen.len() <= MAX_PATHS, "{} addresses hear of us", seen.len());
    // An answer to each request, of at most a packet that quotes it, and 15 addresses with 6
    // heartbeats.
    let packets_out = m.cost.packets_in + 15 * 6;
    let bound = Bound {
        packets_out,
        bytes_out: m.cost.bytes_in + 40 * m.cost.packets_in + 15 * 6 * 100,
        memory: 64 * KIB,
        work_per_packet: 40,
    };
    m.settle(9, "addresses added without end", bound);
    assert_well(&mut p);
}

#[test]
fn a34_random_numbers_of_another_length() {
    let mut endpoint = victim(config(), 1);
    let mut m = Meter::new();
    for len in (0..32).chain(33..64) {
        let request = init(9, params(&vec![7; len], &[kind::AUTH]));
        for _ in 0..16 {
            let sent = packets(&m.hit(&mut endpoint, Time::ZERO, &request));
            assert_eq!((sent.len(), abort_cause(&sent)), (1, Some(13)), "{len} bytes");
        }
    }
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(34, "RANDOM of another length", bound);
}

#[test]
fn a34_auth_chunks_that_prove_nothing() {
    let mut p = connect();
    let good = authentic(&p, &asconf(&p, 0, &[VICTIM]));
    let forgeries = [
        // A key that nobody has; a shorter HMAC; none; one of an algorithm that was not offered.
        tampered(&good, |chunks| chunks[5] = 9),
        tampered(&good, |chunks| {
            chunks.drain(AUTH_LEN - 4..AUTH_LEN);
            chunks[3] -= 4;
        }),
        tampered(&good, |chunks| {
            chunks.drain(8..AUTH_LEN);
            chunks[3] = 8;
        }),
        // Two of them: the second is not what may stand behind the first (RFC 4895 section 6.2).
        tampered(&good, |chunks| {
            let auth = chunks[..AUTH_LEN].to_vec();
            chunks.splice(0..0, auth);
        }),
    ];
    let mut m = Meter::new();
    for forgery in &forgeries {
        for _ in 0..250 {
            let sent = m.hit(&mut p.victim, p.now, forgery);
            assert!(sent.is_empty(), "{}", tell(&sent));
        }
    }
    assert_eq!(peers(&mut p), 1);
    m.settle(34, "AUTH that proves nothing", Bound { work_per_packet: 4, ..SILENCE });
    // An algorithm that was not offered is reported (RFC 4895 section 6.3).
    m.begin();
    let unknown = tampered(&good, |chunks| chunks[7] = 2);
    for _ in 0..1000 {
        let sent = packets(&m.hit(&mut p.victim, p.now, &unknown));
        assert_eq!(count_chunks(&sent, kind::ERROR), sent.len());
    }
    assert_eq!(peers(&mut p), 1);
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(34, "AUTH of an algorithm not offered", bound);
}

#[test]
fn a34_an_authentic_asconf_again_and_again() {
    let mut p = connect();
    let first = authentic(&p, &asconf(&p, 0, &[[192, 168, 0, 1].into()]));
    let mut m = Meter::new();
    let told = packets(&m.hit(&mut p.victim, p.now, &first));
    assert_eq!((count_chunks(&told, kind::ASCONF_ACK), peers(&mut p)), (1, 2));
    m.begin();
    for _ in 0..1000 {
        let again = packets(&m.hit(&mut p.victim, p.now, &first));
        assert_eq!(count_chunks(&again, kind::ASCONF_ACK), 1);
    }
    assert_eq!(peers(&mut p), 2);
    let (packets_out, bytes_out) = (m.cost.packets_in, m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(34, "an authentic ASCONF again", bound);
    // Once the next one has come, the old one is not even answered.
    let next = authentic(&p, &asconf(&p, 1, &[[192, 168, 0, 2].into()]));
    m.hit(&mut p.victim, p.now, &next);
    m.begin();
    for _ in 0..1000 {
        assert_eq!(
            count_chunks(&packets(&m.hit(&mut p.victim, p.now, &first)), kind::ASCONF_ACK),
            0
        );
    }
    assert_eq!(peers(&mut p), 3);
    m.settle(34, "an authentic ASCONF of the past", Bound { work_per_packet: 20, ..SILENCE });
}

#[test]
fn a35_addresses_that_cannot_be_protected() {
    let mut endpoint = victim(config(), 1);
    let listed = [kind::ASCONF, kind::ASCONF_ACK];
    let extensions = [Parameter::SupportedExtensions(&listed)].into_iter().collect();
    let request = init(9, extensions);
    let mut m = Meter::new();
    for _ in 0..1000 {
        let sent = packets(&m.hit(&mut endpoint, Time::ZERO, &request));
        assert_eq!((sent.len(), abort_cause(&sent)), (1, Some(13)));
    }
    assert_eq!(endpoint.associations().count(), 0);
    let (packets_out, bytes_out) = (m.cost.packets_in, 2 * m.cost.bytes_in);
    let bound = Bound { packets_out, bytes_out, memory: 4 * KIB, work_per_packet: 20 };
    m.settle(35, "ASCONF listed without AUTH", bound);
    // Nor may an association come about by a cookie of its own making.
    let echo =
        PacketBuilder::new(PORTS.0, PORTS.1, 9).push_raw(kind::COOKIE_ECHO, 0, &[7; 76]).build();
    assert!(m.hit(&mut endpoint, Time::ZERO, &echo).is_empty());
    assert_ne!(connect().assoc().state(), State::Closed, "with AUTH it is welcome");
}
