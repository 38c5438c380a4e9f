//! Floods from forged sources, and whether honest strangers are served meanwhile (numbers 2 to 4,
//! 20, 36).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use polypath_proto::config::EndpointConfig;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{Endpoint, FourTuple};
use polypath_testkit::packet::{PacketBuilder, reseal_checksum};
use polypath_testkit::scripted_peer::{
    PORTS, abort_cause, count_chunks, init, read_init_ack, victim, victim_tuple,
};
use polypath_testkit::world::{HostId, address};
use polypath_wire::chunk::kind;
use polypath_wire::{Chunk, CookieEchoChunk, Parameter, ParamsBuf};

use super::counting::KIB;
use super::meter::{Bound, Meter, packets};
use super::quiet;

/// Hostile packets per second of virtual time.
const FLOOD: u64 = 50_000;

/// Every so many of them somebody honest comes.
const HONEST_EVERY: u64 = 100;

/// How long it lasts, seconds.
const SECONDS: u64 = 3;

/// Most replies of all kinds to one network: its rate, what the common bucket and its own held at
/// the beginning.
const PER_NETWORK: u64 = SECONDS * 5_000 + 5_000 + 1_250;

fn from(source: impl Into<IpAddr>) -> FourTuple {
    FourTuple { remote: SocketAddr::new(source.into(), 0), ..victim_tuple() }
}

/// The i-th honest stranger, at home in a network of its own.
fn honest(i: u64) -> Ipv4Addr {
    Ipv4Addr::from(0xc612_0000 + ((i as u32) << 8) + 9)
}

/// Any host of the Internet.
fn anybody(rng: &mut Rng) -> Ipv4Addr {
    let [a, b, c, d] = rng.next_u32().to_be_bytes();
    Ipv4Addr::new(16 + a % 100, b, c, d)
}

/// When the i-th hostile packet comes.
fn time(i: u64) -> Time {
    Time::ZERO + Duration::from_micros(i * 1_000_000 / FLOOD)
}

/// How a flood went.
#[derive(Debug, Default)]
struct Outcome {
    honest: u64,
    answered: u64,
    /// Replies to the flood.
    replies: u64,
}

impl Outcome {
    fn assert_served(&self) {
        assert!(100 * self.answered >= 95 * self.honest, "{self:?}");
    }
}

/// `make` gives the i-th hostile packet and its source.
fn flood(
    endpoint: &mut Endpoint,
    m: &mut Meter,
    mut make: impl FnMut(u64) -> (FourTuple, Vec<u8>),
) -> Outcome {
    let mut outcome = Outcome::default();
    for i in 0..FLOOD * SECONDS {
        let now = time(i);
        let (source, packet) = make(i);
        outcome.replies += m.hit_from(endpoint, now, source, &packet).len() as u64;
        if i % HONEST_EVERY == HONEST_EVERY / 2 {
            let i = outcome.honest;
            outcome.honest += 1;
            // Not the attacker's packets: they are not metered.
            endpoint.handle_datagram(now, from(honest(i)), &init(1, ParamsBuf::new()));
            let sent = polypath_testkit::scripted_peer::drain_packets(endpoint, now);
            outcome.answered += u64::from(count_chunks(&sent, kind::INIT_ACK) == 1);
        }
    }
    outcome
}

/// `work`: allocations per hostile packet. A reply costs eight, a packet that gets none at most
/// one.
fn settle(m: &Meter, number: u32, name: &str, packets_out: u64, work: u64) {
    // The table of networks takes 16 KiB while strangers are many.
    let bytes_out = packets_out * 156;
    let bound = Bound { packets_out, bytes_out, memory: 20 * KIB, work_per_packet: work };
    m.settle(number, name, bound);
}

#[test]
fn a04_honest_inits_among_forged_ones_from_everywhere() {
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let mut rng = Rng::from_u64(4);
    let request = init(7, ParamsBuf::new());
    let outcome = flood(&mut endpoint, &mut m, |_| (from(anybody(&mut rng)), request.clone()));
    println!("INITs from everywhere: {outcome:?}");
    outcome.assert_served();
    assert_eq!(endpoint.associations().count(), 0);
    settle(&m, 4, "50,000 INITs a second from everywhere", SECONDS * FLOOD, 10);
}

#[test]
fn a04_a_flood_that_claims_to_come_from_one_network() {
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let request = init(7, ParamsBuf::new());
    let source = |i: u64| from(Ipv4Addr::new(203, 0, 113, i as u8));
    let outcome = flood(&mut endpoint, &mut m, |i| (source(i), request.clone()));
    println!("INITs from one network: {outcome:?}");
    outcome.assert_served();
    assert!(outcome.replies <= PER_NETWORK, "{outcome:?}");
    settle(&m, 4, "50,000 INITs a second from one network", PER_NETWORK, 3);
}

#[test]
fn a04_a_flood_that_claims_to_come_from_one_network_of_ipv6() {
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let (request, mut rng) = (init(7, ParamsBuf::new()), Rng::from_u64(6));
    // A site has 65,536 networks of 2^64 addresses each.
    let mut source = || {
        let [a, b] = [rng.next_u32(), rng.next_u32()].map(|n| n as u16);
        from(Ipv6Addr::new(0x2001, 0xdb8, 7, a, b, 0, 0, 1))
    };
    let outcome = flood(&mut endpoint, &mut m, |_| (source(), request.clone()));
    println!("INITs from one IPv6 site: {outcome:?}");
    outcome.assert_served();
    assert!(outcome.replies <= PER_NETWORK, "{outcome:?}");
}

#[test]
fn a04_a_flood_from_as_many_networks_as_empty_buckets() {
    // Each gets all its network may have: nobody can do more harm with as many packets.
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let request = init(7, ParamsBuf::new());
    let source = |i: u64| from(Ipv4Addr::new(203, 0, (i % 10) as u8, 1));
    let outcome = flood(&mut endpoint, &mut m, |i| (source(i), request.clone()));
    println!("INITs from ten networks: {outcome:?}");
    outcome.assert_served();
    settle(&m, 4, "50,000 INITs a second from ten networks", SECONDS * FLOOD, 10);
}

#[test]
fn a20_honest_inits_among_packets_out_of_the_blue() {
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let mut rng = Rng::from_u64(20);
    let stray = PacketBuilder::new(PORTS.0, PORTS.1, 7).push_chunk(&Chunk::ShutdownAck).build();
    let outcome = flood(&mut endpoint, &mut m, |_| (from(anybody(&mut rng)), stray.clone()));
    println!("out of the blue: {outcome:?}");
    outcome.assert_served();
    assert!(outcome.replies <= (SECONDS + 1) * 10_000, "{outcome:?}");
    settle(&m, 20, "50,000 packets a second out of the blue", (SECONDS + 1) * 10_000, 1);
}

#[test]
fn a20_set_ups_go_before_answers_out_of_the_blue_in_one_network() {
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let stray = PacketBuilder::new(PORTS.0, PORTS.1, 7).push_chunk(&Chunk::ShutdownAck).build();
    // The flood has the addresses of the very network in which somebody wants to set up.
    let source = |i: u64| from(Ipv4Addr::new(198, 18, 0, i as u8));
    let mut answered = 0;
    for i in 0..FLOOD {
        let now = time(i);
        m.hit_from(&mut endpoint, now, source(i), &stray);
        if i % HONEST_EVERY == 0 {
            endpoint.handle_datagram(now, source(9), &init(1, ParamsBuf::new()));
            let sent = polypath_testkit::scripted_peer::drain_packets(&mut endpoint, now);
            answered += count_chunks(&sent, kind::INIT_ACK) as u64;
        }
    }
    assert_eq!(answered, FLOOD / HONEST_EVERY);
}

/// A stranger's COOKIE ECHO with a good cookie.
fn echo(endpoint: &mut Endpoint, m: &mut Meter, source: FourTuple) -> Vec<u8> {
    let sent = packets(&m.hit_from(endpoint, Time::ZERO, source, &init(7, ParamsBuf::new())));
    let ack = read_init_ack(&sent[0]).expect("INIT ACK");
    let echo = CookieEchoChunk { cookie: &ack.cookie };
    PacketBuilder::new(PORTS.0, PORTS.1, ack.tag).push_chunk(&echo).build()
}

#[test]
fn a03_honest_set_ups_among_forged_cookies() {
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let mut rng = Rng::from_u64(3);
    let mut forged = echo(&mut endpoint, &mut m, from(honest(500)));
    *forged.last_mut().expect("a cookie") ^= 1;
    reseal_checksum(&mut forged);
    m.begin();
    let outcome = flood(&mut endpoint, &mut m, |_| (from(anybody(&mut rng)), forged.clone()));
    println!("forged cookies: {outcome:?}");
    outcome.assert_served();
    assert_eq!((outcome.replies, endpoint.associations().count()), (0, 0));
    let bound = Bound { packets_out: 0, bytes_out: 0, memory: 20 * KIB, work_per_packet: 2 };
    m.settle(3, "50,000 forged cookies a second", bound);
    // A cookie longer than any of ours is not even looked at.
    m.begin();
    let long = CookieEchoChunk { cookie: &[7; 60_000] };
    let long = PacketBuilder::new(PORTS.0, PORTS.1, 7).push_chunk(&long).build();
    assert!(m.hit_from(&mut endpoint, Time::from_secs(9), from(honest(1)), &long).is_empty());
}

#[test]
fn a02_a_good_cookie_again_and_again_from_everywhere() {
    let (mut endpoint, mut m) = (victim(quiet(), 1), Meter::new());
    let mut rng = Rng::from_u64(2);
    let again = echo(&mut endpoint, &mut m, from(honest(500)));
    // It sets up one association, which ends.
    m.hit_from(&mut endpoint, Time::ZERO, from(honest(500)), &again);
    let h = endpoint.associations().next().expect("set up");
    endpoint.remove(h);
    m.begin();
    let outcome = flood(&mut endpoint, &mut m, |_| (from(anybody(&mut rng)), again.clone()));
    println!("a used cookie from everywhere: {outcome:?}");
    outcome.assert_served();
    assert_eq!(endpoint.associations().count(), 0);
    assert!(outcome.replies <= (SECONDS + 1) * 10_000, "{outcome:?}");
    settle(&m, 2, "50,000 times a second a used cookie", (SECONDS + 1) * 10_000, 3);
}

const SHARE: usize = 8;

/// A server of which one host may have [`SHARE`] associations.
fn shared() -> Endpoint {
    let config = EndpointConfig {
        port: PORTS.1,
        addresses: vec![address(HostId::SERVER, 0), "fd00::2".parse().expect("an address")],
        max_associations_per_address: SHARE,
        assoc: quiet().into(),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Rng::from_u64(1))
}

/// Opens an association that lists more addresses; the cause of the ABORT if it is refused.
fn open(endpoint: &mut Endpoint, source: IpAddr, port: u16, listed: ParamsBuf) -> Option<u16> {
    let mut tuple = from(source);
    if source.is_ipv6() {
        tuple.local = "[fd00::2]:0".parse().expect("an address");
    }
    let mut m = Meter::new();
    let mut request = init(u32::from(port), listed);
    request[..2].copy_from_slice(&port.to_be_bytes());
    reseal_checksum(&mut request);
    let sent = packets(&m.hit_from(endpoint, Time::ZERO, tuple, &request));
    let Some(ack) = sent.first().and_then(|packet| read_init_ack(packet)) else {
        return abort_cause(&sent);
    };
    let echo = CookieEchoChunk { cookie: &ack.cookie };
    let packet = PacketBuilder::new(port, PORTS.1, ack.tag).push_chunk(&echo).build();
    m.hit_from(endpoint, Time::ZERO, tuple, &packet);
    None
}

#[test]
fn a36_a_host_has_one_share_whichever_of_its_ipv6_addresses_it_takes() {
    let mut endpoint = shared();
    let host = |net: u16, i: u16| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, net, i, 0, 0, i));
    let refused = (1..=100)
        .filter(|i| open(&mut endpoint, host(0, *i), *i, ParamsBuf::new()) == Some(4))
        .count();
    assert_eq!((endpoint.associations().count(), refused), (SHARE, 100 - SHARE));
    assert_eq!(open(&mut endpoint, host(1, 1), 1, ParamsBuf::new()), None, "the next network");
}

#[test]
fn a36_who_lists_a_strangers_address_takes_nothing_of_its_share() {
    let mut endpoint = shared();
    let stranger = Ipv4Addr::new(192, 0, 2, 66);
    for port in 1..=SHARE as u16 {
        let listed: ParamsBuf = [Parameter::Ipv4(stranger)].into_iter().collect();
        assert_eq!(open(&mut endpoint, Ipv4Addr::new(10, 0, 0, 77).into(), port, listed), None);
    }
    assert_eq!(open(&mut endpoint, stranger.into(), 99, ParamsBuf::new()), None);
}
