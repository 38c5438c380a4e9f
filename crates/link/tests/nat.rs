//! Boxes of every kind that RFC 4787 names.

use std::net::{IpAddr, SocketAddr};

use polypath_link::{
    LinkSeed, Nat, NatChange, NatConfig, NatConfigError, NatDependence, NatPooling, NatRefusal,
    NatVerdict,
};
use proptest::prelude::*;

const S: u64 = 1_000_000_000;
const EXTERNAL: &str = "198.51.100.7";
const CLIENT: &str = "10.0.1.1:5000";

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn config(mapping: NatDependence, filtering: NatDependence) -> NatConfig {
    NatConfig { mapping, filtering, ..NatConfig::new(ip(EXTERNAL)) }
}

fn nat(config: NatConfig) -> Nat {
    config.check().unwrap();
    Nat::new(config, LinkSeed::new(1, 1))
}

/// How far two endpoints outside agree.
fn alike(dependence: NatDependence, a: SocketAddr, b: SocketAddr) -> bool {
    match dependence {
        NatDependence::EndpointIndependent => true,
        NatDependence::AddressDependent => a.ip() == b.ip(),
        NatDependence::AddressAndPortDependent => a == b,
    }
}

#[test]
fn each_kind_maps_and_filters_as_the_tables_of_rfc_4787_say() {
    let (first, other_port, other_host) =
        (at("203.0.113.1:10"), at("203.0.113.1:11"), at("203.0.113.2:10"));
    for mapping in NatDependence::ALL {
        for filtering in NatDependence::ALL {
            let mut nat = nat(config(mapping, filtering));
            let mapped = nat.translate_outbound(0, at(CLIENT), first).unwrap();
            // Section 5: who gets in before the client has sent there.
            for from in [first, other_port, other_host] {
                let expected = match alike(filtering, first, from) {
                    true => NatVerdict::Inside(at(CLIENT)),
                    false => NatVerdict::Dropped(NatRefusal::Filtered),
                };
                assert_eq!(
                    nat.translate_inbound(1, from, mapped),
                    expected,
                    "{mapping:?} {filtering:?}"
                );
            }
            // Section 4.1: which endpoint the client's packets have elsewhere.
            for to in [first, other_port, other_host] {
                let same = nat.translate_outbound(2, at(CLIENT), to) == Some(mapped);
                assert_eq!(same, alike(mapping, first, to), "{mapping:?} {filtering:?}");
            }
        }
    }
}

#[test]
fn ports_are_preserved_where_they_are_free_and_never_shared() {
    let server = at("203.0.113.1:10");
    let mut keeps = nat(NatConfig::new(ip(EXTERNAL)));
    assert_eq!(keeps.translate_outbound(0, at(CLIENT), server), Some(at("198.51.100.7:5000")));
    let second = keeps.translate_outbound(0, at("10.0.2.1:5000"), server).unwrap();
    assert_ne!(second.port(), 5000);
    let low = keeps.translate_outbound(0, at("10.0.2.1:80"), server).unwrap();
    let lower = keeps.translate_outbound(0, at("10.0.3.1:80"), server).unwrap();
    assert_eq!((low.port(), lower.port() < 1024), (80, true));
    let mut draws = nat(NatConfig { preserve_ports: false, ..NatConfig::new(ip(EXTERNAL)) });
    assert_ne!(draws.translate_outbound(0, at(CLIENT), server), Some(at("198.51.100.7:5000")));
}

#[test]
fn a_mapping_lasts_its_time_and_packets_from_outside_do_not_prolong_it() {
    let (server, timeout) = (at("203.0.113.1:10"), NatConfig::TIMEOUT);
    let mut nat = nat(NatConfig::new(ip(EXTERNAL)));
    let mapped = nat.translate_outbound(0, at(CLIENT), server).unwrap();
    assert_eq!(nat.translate_inbound(timeout - 1, server, mapped), NatVerdict::Inside(at(CLIENT)));
    let gone = NatVerdict::Dropped(NatRefusal::Unmapped);
    assert_eq!(nat.translate_inbound(timeout, server, mapped), gone);
    assert_eq!(nat.mapped_endpoint(timeout, at(CLIENT), server), None);
    nat.translate_outbound(timeout, at(CLIENT), server).unwrap();
    nat.translate_outbound(timeout + S, at(CLIENT), server).unwrap();
    assert_eq!(nat.translate_inbound(2 * timeout, server, mapped), NatVerdict::Inside(at(CLIENT)));
}

#[test]
fn the_filter_closes_to_each_in_its_own_time() {
    let (early, late, timeout) = (at("203.0.113.1:10"), at("203.0.113.2:10"), NatConfig::TIMEOUT);
    let mut nat = nat(NatConfig::new(ip(EXTERNAL)));
    let mapped = nat.translate_outbound(0, at(CLIENT), early).unwrap();
    assert_eq!(nat.translate_outbound(S, at(CLIENT), late), Some(mapped));
    assert_eq!(
        nat.translate_inbound(timeout, early, mapped),
        NatVerdict::Dropped(NatRefusal::Filtered)
    );
    assert_eq!(nat.translate_inbound(timeout, late, mapped), NatVerdict::Inside(at(CLIENT)));
}

#[test]
fn neighbours_behind_the_box_meet_at_their_external_endpoints_or_not_at_all() {
    let (one, two) = (at("10.0.1.1:5000"), at("10.0.2.1:6000"));
    let open = NatDependence::EndpointIndependent;
    let mut nat = nat(config(open, open));
    let server = at("203.0.113.1:10");
    let [first, second] =
        [one, two].map(|inside| nat.translate_outbound(0, inside, server).unwrap());
    assert!(nat.is_external(second.ip()));
    // REQ-9 a: with the external source.
    assert_eq!(nat.translate_outbound(1, one, second), Some(first));
    assert_eq!(nat.translate_inbound(1, first, second), NatVerdict::Inside(two));
    let mut without = self::nat(NatConfig { hairpin: false, ..config(open, open) });
    assert_eq!(without.translate_outbound(1, one, second), None);
    assert_eq!(without.stats().refused, 1);
}

#[test]
fn a_full_table_refuses_newcomers_and_serves_the_others() {
    let timeout = 10 * S;
    let config = NatConfig { capacity: 2, timeout, ..NatConfig::new(ip(EXTERNAL)) };
    let mut nat = nat(config);
    let to = |port| SocketAddr::new(ip("203.0.113.1"), port);
    let mapped = nat.translate_outbound(0, at(CLIENT), to(1)).unwrap();
    assert_eq!(nat.translate_outbound(S, at(CLIENT), to(2)), Some(mapped));
    assert_eq!(nat.translate_outbound(2 * S, at(CLIENT), to(3)), None);
    assert_eq!(nat.translate_outbound(2 * S, at("10.0.2.1:1"), to(1)), None);
    assert_eq!(nat.translate_outbound(3 * S, at(CLIENT), to(2)), Some(mapped));
    assert_eq!(nat.translate_inbound(4 * S, to(1), mapped), NatVerdict::Inside(at(CLIENT)));
    // The first has had its time.
    assert_eq!(nat.translate_outbound(10 * S, at(CLIENT), to(3)), Some(mapped));
    assert_eq!(
        nat.translate_inbound(10 * S, to(1), mapped),
        NatVerdict::Dropped(NatRefusal::Filtered)
    );
    assert_eq!(nat.stats().refused, 2);
}

#[test]
fn who_is_not_let_in_can_be_told() {
    let mut nat = nat(NatConfig { answers: true, ..NatConfig::new(ip(EXTERNAL)) });
    let (server, stranger) = (at("203.0.113.1:10"), at("203.0.113.9:10"));
    let mapped = nat.translate_outbound(0, at(CLIENT), server).unwrap();
    let told = NatVerdict::Unreachable;
    assert_eq!(nat.translate_inbound(0, stranger, mapped), told(NatRefusal::Filtered));
    assert_eq!(nat.translate_inbound(0, server, at("198.51.100.7:1")), told(NatRefusal::Unmapped));
    assert_eq!((nat.stats().filtered, nat.stats().unmapped), (1, 1));
}

#[test]
fn new_ports_a_new_address_or_no_memory_in_mid_transfer() {
    let server = at("203.0.113.1:10");
    let mut nat = nat(NatConfig::new(ip(EXTERNAL)));
    let first = nat.translate_outbound(0, at(CLIENT), server).unwrap();

    nat.rebind_ports();
    assert_eq!(nat.translate_inbound(0, server, first), NatVerdict::Dropped(NatRefusal::Unmapped));
    let second = nat.translate_outbound(0, at(CLIENT), server).unwrap();
    assert!(second.ip() == first.ip() && second.port() != first.port());
    assert_eq!(nat.translate_inbound(0, server, second), NatVerdict::Inside(at(CLIENT)));

    nat.change_address(ip("198.51.100.8"));
    assert!(!nat.is_external(first.ip()));
    let third = nat.translate_outbound(0, at(CLIENT), server).unwrap();
    assert_eq!(third, SocketAddr::new(ip("198.51.100.8"), second.port()));
    assert_eq!(nat.translate_inbound(0, server, second), NatVerdict::Dropped(NatRefusal::Unmapped));
    assert_eq!(nat.translate_inbound(0, server, third), NatVerdict::Inside(at(CLIENT)));

    nat.forget_mappings();
    assert_eq!(nat.translate_inbound(0, server, third), NatVerdict::Dropped(NatRefusal::Unmapped));
}

#[test]
fn scheduled_changes_come_with_the_first_packet_after_their_time() {
    let (server, elsewhere) = (at("203.0.113.1:10"), ip("198.51.100.8"));
    let schedule = vec![
        (S, NatChange::Rebind),
        (2 * S, NatChange::Readdress(elsewhere)),
        (3 * S, NatChange::Forget),
    ];
    let mut nat = nat(NatConfig { schedule, ..NatConfig::new(ip(EXTERNAL)) });
    let first = nat.translate_outbound(S - 1, at(CLIENT), server).unwrap();
    assert_eq!(nat.translate_inbound(S, server, first), NatVerdict::Dropped(NatRefusal::Unmapped));
    assert_ne!(nat.translate_outbound(S, at(CLIENT), server), Some(first));
    nat.advance_schedule(2 * S);
    assert!(nat.is_external(elsewhere) && !nat.is_external(first.ip()));
    assert_eq!(
        nat.translate_outbound(9 * S, at(CLIENT), server),
        Some(SocketAddr::new(elsewhere, 5000))
    );
}

#[test]
fn errors_are_led_to_whom_they_concern_and_renew_nothing() {
    let (server, timeout) = (at("203.0.113.1:10"), NatConfig::TIMEOUT);
    let mut nat = nat(NatConfig::new(ip(EXTERNAL)));
    let mapped = nat.translate_outbound(0, at(CLIENT), server).unwrap();
    assert_eq!(nat.inside_endpoint(timeout - 1, mapped, server), Some(at(CLIENT)));
    assert_eq!(nat.inside_endpoint(0, mapped, at("203.0.113.9:10")), None);
    assert_eq!(nat.mapped_endpoint(timeout - 1, at(CLIENT), server), Some(mapped));
    assert_eq!((nat.inside_endpoint(timeout, mapped, server), nat.stats().inbound), (None, 0));
}

#[test]
fn hosts_share_several_addresses_in_pairs_or_as_it_comes() {
    let pool = vec![ip("198.51.100.7"), ip("198.51.100.8"), ip("2001:db8::7")];
    let addresses = |pooling| {
        let external = pool.clone();
        let mut nat = nat(NatConfig { pooling, external, ..NatConfig::new(ip(EXTERNAL)) });
        let mut each = (1..100).map(|port| {
            nat.translate_outbound(0, SocketAddr::new(ip("10.0.1.1"), port), at("203.0.113.1:1"))
                .unwrap()
        });
        let first = each.next().unwrap().ip();
        each.filter(|mapped| mapped.ip() != first).count()
    };
    assert_eq!(addresses(NatPooling::Paired), 0);
    assert!((20..80).contains(&addresses(NatPooling::Arbitrary)));
    let mut nat = nat(NatConfig { external: pool, ..NatConfig::new(ip(EXTERNAL)) });
    let mapped = nat.translate_outbound(0, at("[fd00::1]:5"), at("[2001:db8::1]:6"));
    assert_eq!(mapped, Some(at("[2001:db8::7]:5")));
    assert_eq!(nat.translate_outbound(0, at("[fd00::1]:5"), at("203.0.113.1:6")), None);
}

#[test]
fn what_cannot_be_is_named() {
    let check = |change: fn(&mut NatConfig)| {
        let mut config = NatConfig::new(ip(EXTERNAL));
        change(&mut config);
        config.check().unwrap_err()
    };
    assert_eq!(check(|c| c.external.clear()), NatConfigError::NoExternal);
    assert_eq!(
        check(|c| c.external.push(ip("224.0.0.1"))).to_string(),
        "external: 224.0.0.1 (allowed: unicast addresses, each once)"
    );
    assert_eq!(check(|c| c.external.push(ip(EXTERNAL))), NatConfigError::External(ip(EXTERNAL)));
    assert_eq!(check(|c| c.timeout = 0), NatConfigError::Timeout);
    assert_eq!(check(|c| c.capacity = 0), NatConfigError::Capacity);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Out { inside: usize, outside: usize },
    In { outside: usize, mapped: usize },
    Rebind,
    Readdress(u8),
    Forget,
}

/// What was sent when, and how it looked outside: all that the model knows.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: u64,
    inside: SocketAddr,
    outside: SocketAddr,
    mapped: SocketAddr,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        8 => (0..4usize, 0..6usize).prop_map(|(inside, outside)| Step::Out { inside, outside }),
        8 => (0..6usize, 0..20usize).prop_map(|(outside, mapped)| Step::In { outside, mapped }),
        1 => Just(Step::Rebind),
        1 => (7..10u8).prop_map(Step::Readdress),
        1 => Just(Step::Forget),
    ];
    prop::collection::vec((0..4 * S, step), 1..80)
}

fn kind() -> impl Strategy<Value = NatDependence> {
    prop::sample::select(NatDependence::ALL.to_vec())
}

/// Endpoints outside: three ports at each of two hosts.
fn outside(n: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::from([203, 0, 113, n as u8 / 3]), 10 + n as u16 % 3)
}

/// Endpoints inside: two ports at each of two hosts.
fn inside(n: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::from([10, 0, n as u8 / 2, 1]), 5000 + n as u16 % 2)
}

proptest! {
    /// A list of what was sent, searched from end to end, says the same.
    #[test]
    fn it_does_what_a_list_of_packets_says(
        mapping in kind(), filtering in kind(), preserve_ports: bool, steps in steps(),
    ) {
        let timeout = 20 * S;
        let mut nat = nat(NatConfig { preserve_ports, timeout, ..config(mapping, filtering) });
        let (mut now, mut sent) = (0, Vec::<Sent>::new());
        for (pause, step) in steps {
            now += pause;
            sent.retain(|record| now - record.at < timeout);
            match step {
                Step::Out { inside: from, outside: to } => {
                    let (from, to) = (inside(from), outside(to));
                    let mapped = nat.translate_outbound(now, from, to).unwrap();
                    let own = sent.iter().find(|record| {
                        record.inside == from && alike(mapping, record.outside, to)
                    });
                    match own {
                        Some(own) => prop_assert_eq!(own.mapped, mapped),
                        None => prop_assert!(sent.iter().all(|other| other.mapped != mapped)),
                    }
                    sent.push(Sent { at: now, inside: from, outside: to, mapped });
                }
                Step::In { outside: from, mapped } => {
                    let stranger = at("198.51.100.7:9");
                    let to = sent.get(mapped).map_or(stranger, |record| record.mapped);
                    let from = outside(from);
                    let mut owners = sent.iter().filter(|record| record.mapped == to);
                    let expected = match owners.clone().next() {
                        None => NatVerdict::Dropped(NatRefusal::Unmapped),
                        Some(owner) if owners.any(|r| alike(filtering, r.outside, from)) => {
                            NatVerdict::Inside(owner.inside)
                        }
                        Some(_) => NatVerdict::Dropped(NatRefusal::Filtered),
                    };
                    prop_assert_eq!(nat.translate_inbound(now, from, to), expected);
                }
                Step::Rebind | Step::Readdress(_) => {
                    match step {
                        Step::Readdress(last) => nat.change_address([198, 51, 100, last].into()),
                        _ => nat.rebind_ports(),
                    }
                    for record in &mut sent {
                        record.mapped = nat.mapped_endpoint(now, record.inside, record.outside).unwrap();
                    }
                }
                Step::Forget => {
                    nat.forget_mappings();
                    sent.clear();
                }
            }
        }
    }
}
