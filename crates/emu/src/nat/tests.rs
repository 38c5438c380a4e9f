//! Packets through a box, with checksums that hold, in both families.

use std::net::{IpAddr, SocketAddr};

use polypath_link::{LinkSeed, Nanos, NatChange, NatConfig};

use super::packet::{Header, addresses, read_word};
use super::{Arrival, Boxes, checksum};
use crate::spec::NatSpec;

const CLIENT: [&str; 2] = ["10.0.1.1:5000", "[fd00::1]:5000"];
const SERVER: [&str; 2] = ["10.0.0.2:9899", "[fd00::2]:9899"];
const STRANGER: [&str; 2] = ["10.0.0.3:9899", "[fd00::3]:9899"];
/// Both external addresses, with another port than the client's.
const EXTERNAL: [&str; 2] = ["198.51.100.7:5000", "[2001:db8::7]:5000"];

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn boxes(change: impl FnOnce(&mut NatConfig), schedule: Vec<(Nanos, NatChange)>) -> Boxes {
    let mut config = NatConfig::new(at(EXTERNAL[0]).ip());
    config.external.push(at(EXTERNAL[1]).ip());
    change(&mut config);
    config.schedule = schedule;
    let inside = CLIENT.map(|client| at(client).ip()).to_vec();
    let seed = LinkSeed::new(1, 1);
    let spec = NatSpec { name: "home".into(), inside, config, seed };
    let mut boxes = Boxes::new(vec![spec]);
    boxes.start_schedules();
    boxes
}

fn ip(from: IpAddr, to: IpAddr, next: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut packet = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut head = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, next, 0, 0];
            head[2..4].copy_from_slice(&(length + 20).to_be_bytes());
            head.extend(from.octets().into_iter().chain(to.octets()));
            let sum = checksum::compute_checksum(&[&head]);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            head
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, next, 64];
            head[4..6].copy_from_slice(&length.to_be_bytes());
            head.extend(from.octets().into_iter().chain(to.octets()));
            head
        }
        _ => panic!("two families"),
    };
    packet.extend_from_slice(payload);
    packet
}

/// The checksum of what an IP packet carries, zero if it is right.
fn transport_sum(packet: &[u8]) -> u16 {
    let Header { v4, next, end } = Header::read_header(packet).unwrap();
    let length = ((packet.len() - end) as u32).to_be_bytes();
    let pseudo = [&packet[if v4 { 12..20 } else { 8..40 }], &length, &[0, 0, 0, next]].concat();
    let pseudo = if next == 1 { Vec::new() } else { pseudo };
    checksum::compute_checksum(&[&pseudo, &packet[end..]])
}

fn is_sound(packet: &[u8]) -> bool {
    let v4 = packet[0] >> 4 == 4;
    (!v4 || checksum::compute_checksum(&[&packet[..20]]) == 0) && transport_sum(packet) == 0
}

/// With the checksum where it belongs.
fn sealed(mut packet: Vec<u8>, place: usize) -> Vec<u8> {
    let end = Header::read_header(&packet).unwrap().end;
    let sum = transport_sum(&packet).to_be_bytes();
    packet[end + place..end + place + 2].copy_from_slice(&sum);
    assert!(is_sound(&packet));
    packet
}

fn udp(from: &str, to: &str, bytes: usize) -> Vec<u8> {
    let (from, to) = (at(from), at(to));
    let mut payload: Vec<u8> = (0..8 + bytes).map(|n| n as u8).collect();
    payload[..2].copy_from_slice(&from.port().to_be_bytes());
    payload[2..4].copy_from_slice(&to.port().to_be_bytes());
    payload[4..8].copy_from_slice(&[0, 8 + bytes as u8, 0, 0]);
    sealed(ip(from.ip(), to.ip(), 17, &payload), 6)
}

fn tcp(from: &str, to: &str) -> Vec<u8> {
    let (from, to) = (at(from), at(to));
    let mut payload = vec![7; 20];
    payload[..2].copy_from_slice(&from.port().to_be_bytes());
    payload[2..4].copy_from_slice(&to.port().to_be_bytes());
    payload[16..18].fill(0);
    sealed(ip(from.ip(), to.ip(), 6, &payload), 16)
}

/// An echo message with this identifier.
fn echo(from: &str, to: &str, kinds: [u8; 2], id: u16) -> Vec<u8> {
    let (from, to) = (at(from).ip(), at(to).ip());
    let [high, low] = id.to_be_bytes();
    let (next, kind) = if from.is_ipv4() { (1, kinds[0]) } else { (58, kinds[1]) };
    sealed(ip(from, to, next, &[kind, 0, 0, 0, high, low, 0, 1, 2]), 2)
}

/// An ICMP error of an unreachable port about the beginning of a packet.
fn unreachable(from: &str, to: &str, about: &[u8]) -> Vec<u8> {
    let (from, to) = (at(from).ip(), at(to).ip());
    let (next, head) = if from.is_ipv4() { (1, [3, 3]) } else { (58, [1, 4]) };
    let headers = Header::read_header(about).unwrap().end + 8;
    sealed(ip(from, to, next, &[&head[..], &[0; 6], &about[..headers]].concat()), 2)
}

fn ports(packet: &[u8]) -> (SocketAddr, SocketAddr) {
    let end = Header::read_header(packet).unwrap().end;
    let (from, to) = addresses(packet).unwrap();
    let port = |place| read_word(packet, end + place).unwrap();
    (SocketAddr::new(from, port(0)), SocketAddr::new(to, port(2)))
}

#[test]
fn udp_and_tcp_go_out_and_come_back_with_sound_checksums() {
    for family in [0, 1] {
        for make in [|a: &str, b: &str| udp(a, b, 5), |a: &str, b: &str| tcp(a, b)] {
            let mut boxes = boxes(|_| (), Vec::new());
            let mut packet = make(CLIENT[family], SERVER[family]);
            assert!(boxes.translate_leaving(0, &mut packet));
            assert_eq!(ports(&packet), (at(EXTERNAL[family]), at(SERVER[family])));
            assert!(is_sound(&packet));
            let mut back = make(SERVER[family], EXTERNAL[family]);
            assert_eq!(boxes.look_up(1, &back), Some(at(CLIENT[family]).ip()));
            assert_eq!(boxes.translate_arriving(1, &mut back), Arrival::Onward);
            assert_eq!(ports(&back), (at(SERVER[family]), at(CLIENT[family])));
            assert!(is_sound(&back));
        }
    }
}

#[test]
fn a_stranger_does_not_get_in_and_may_be_told() {
    for (family, next) in [(0, 1), (1, 58)] {
        for answers in [false, true] {
            let mut boxes = boxes(|config| config.answers = answers, Vec::new());
            assert!(boxes.translate_leaving(0, &mut udp(CLIENT[family], SERVER[family], 5)));
            let packet = udp(STRANGER[family], EXTERNAL[family], 5);
            assert_eq!(boxes.look_up(1, &packet), None);
            let verdict = boxes.translate_arriving(1, &mut packet.clone());
            let Arrival::Answered(answer) = verdict else {
                assert_eq!((verdict, answers), (Arrival::Dropped, false));
                continue;
            };
            assert!(answers && is_sound(&answer));
            let ends = (at(EXTERNAL[family]).ip(), at(STRANGER[family]).ip());
            assert_eq!(addresses(&answer), Some(ends));
            assert_eq!(Header::read_header(&answer).unwrap().next, next);
            assert!(answer.ends_with(&packet));
            assert_eq!(boxes.counters()[0].1.packets.filtered, 1);
            // Long packets are quoted as far as errors go, and errors are never answered.
            let Arrival::Answered(long) =
                boxes.translate_arriving(1, &mut udp(STRANGER[family], EXTERNAL[family], 240))
            else {
                panic!("not answered")
            };
            assert!(long.len() <= [576, 1280][family]);
            let about = udp(EXTERNAL[family], STRANGER[family], 5);
            let mut error = unreachable(STRANGER[family], EXTERNAL[family], &about);
            assert_eq!(boxes.translate_arriving(1, &mut error), Arrival::Dropped);
        }
    }
}

#[test]
fn errors_find_whom_they_concern_and_quote_what_was_sent() {
    for family in [0, 1] {
        let mut boxes = boxes(|_| (), Vec::new());
        let sent = udp(CLIENT[family], SERVER[family], 5);
        let mut outside = sent.clone();
        assert!(boxes.translate_leaving(0, &mut outside));
        let mut error = unreachable(SERVER[family], EXTERNAL[family], &outside);
        assert_eq!(boxes.look_up(1, &error), Some(at(CLIENT[family]).ip()));
        assert_eq!(boxes.translate_arriving(1, &mut error), Arrival::Onward);
        assert_eq!(error, unreachable(SERVER[family], CLIENT[family], &sent));

        let received = udp(SERVER[family], EXTERNAL[family], 5);
        let mut inside = received.clone();
        assert_eq!(boxes.translate_arriving(1, &mut inside), Arrival::Onward);
        let mut error = unreachable(CLIENT[family], SERVER[family], &inside);
        assert!(boxes.translate_leaving(1, &mut error));
        assert_eq!(error, unreachable(EXTERNAL[family], SERVER[family], &received));
        assert_eq!(boxes.counters()[0].1.errors, 2);

        // About packets that nobody sent.
        let other = udp(EXTERNAL[family], STRANGER[family], 5);
        let mut error = unreachable(STRANGER[family], EXTERNAL[family], &other);
        assert_eq!(boxes.translate_arriving(1, &mut error), Arrival::Dropped);
        assert_eq!(boxes.counters()[0].1.other, 1);
    }
}

#[test]
fn pings_go_out_and_their_answers_come_back() {
    for family in [0, 1] {
        let mut boxes = boxes(|_| (), Vec::new());
        let mut request = echo(CLIENT[family], SERVER[family], [8, 128], 77);
        assert!(boxes.translate_leaving(0, &mut request));
        assert_eq!(request, echo(EXTERNAL[family], SERVER[family], [8, 128], 77));
        let mut reply = echo(SERVER[family], EXTERNAL[family], [0, 129], 77);
        assert_eq!(boxes.translate_arriving(1, &mut reply), Arrival::Onward);
        assert_eq!(reply, echo(SERVER[family], CLIENT[family], [0, 129], 77));
        let mut other = echo(SERVER[family], EXTERNAL[family], [0, 129], 78);
        assert_eq!(boxes.translate_arriving(1, &mut other), Arrival::Dropped);
        // A ping from outside concerns nobody inside.
        let mut ping = echo(SERVER[family], EXTERNAL[family], [8, 128], 77);
        assert_eq!(boxes.translate_arriving(1, &mut ping), Arrival::Dropped);
    }
}

#[test]
fn what_has_no_ports_does_not_pass() {
    let mut boxes = boxes(|_| (), Vec::new());
    let [client, server, external] = [CLIENT[0], SERVER[0], EXTERNAL[0]].map(|text| at(text).ip());
    let mut sctp = ip(client, server, 132, &[0; 20]);
    assert!(!boxes.translate_leaving(0, &mut sctp));
    let mut fragment = udp(CLIENT[0], SERVER[0], 5);
    fragment[6] = 0x20;
    assert!(!boxes.translate_leaving(0, &mut fragment));
    assert_eq!(
        boxes.translate_arriving(0, &mut ip(server, external, 132, &[0; 20])),
        Arrival::Dropped
    );
    assert_eq!(boxes.counters()[0].1.other, 3);
    // A checksum that is not there stays so.
    let mut bare = udp(CLIENT[0], SERVER[0], 5);
    bare[26..28].fill(0);
    assert!(boxes.translate_leaving(0, &mut bare));
    assert_eq!(bare[26..28], [0, 0]);
}

#[test]
fn packets_cut_short_anywhere_harm_nothing() {
    for family in [0, 1] {
        let mut boxes = boxes(|config| config.answers = true, Vec::new());
        let outside = udp(EXTERNAL[family], SERVER[family], 5);
        let whole = [
            udp(SERVER[family], EXTERNAL[family], 5),
            tcp(SERVER[family], EXTERNAL[family]),
            echo(SERVER[family], EXTERNAL[family], [0, 129], 77),
            unreachable(SERVER[family], EXTERNAL[family], &outside),
        ];
        for packet in whole {
            for len in 0..packet.len() {
                let mut short = packet[..len].to_vec();
                boxes.look_up(0, &short);
                boxes.translate_arriving(0, &mut short);
                boxes.translate_leaving(0, &mut short);
            }
        }
    }
}

#[test]
fn changes_come_at_their_times_and_boxes_are_off_at_rest() {
    let mut boxes = boxes(|_| (), vec![(5, NatChange::Rebind), (9, NatChange::Forget)]);
    let out = |boxes: &mut Boxes, now| {
        let mut packet = udp(CLIENT[0], SERVER[0], 5);
        assert!(boxes.translate_leaving(now, &mut packet));
        ports(&packet).0.port()
    };
    assert_eq!(out(&mut boxes, 4), 5000);
    assert_ne!(out(&mut boxes, 6), 5000);
    assert_eq!(out(&mut boxes, 9), 5000);
    boxes.change_box(0, NatChange::Readdress(at("198.51.100.8:1").ip()));
    assert!(!boxes.is_external(at(EXTERNAL[0]).ip()));
    boxes.start_schedules();
    assert!(boxes.is_external(at(EXTERNAL[0]).ip()) && boxes.hides_address(at(CLIENT[0]).ip()));
    assert_eq!(out(&mut boxes, 4), 5000);
    assert_ne!(out(&mut boxes, 6), 5000);
    boxes.switch_off();
    let mut packet = udp(CLIENT[0], SERVER[0], 5);
    assert!(boxes.translate_leaving(0, &mut packet) && packet == udp(CLIENT[0], SERVER[0], 5));
    assert!(!boxes.hides_address(at(CLIENT[0]).ip()) && !boxes.is_external(at(EXTERNAL[0]).ip()));
}
