//! Translators of each kind of RFC 4787, in an emulated network.

use std::net::IpAddr;

use polypath_emu::{
    Emulation, InterfaceSpec, LinkSpec, NatSpec, NetworkSpec, RouteSpec, for_tests,
};
use polypath_link::{LinkConfig, LinkSeed, NatConfig, NatDependence, NatPooling};

use super::stage::{Found, Stage};

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1));
const SERVERS: [IpAddr; 2] = [
    IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 2)),
    IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 3)),
];
const OUTSIDE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 7));

/// A client behind a box, and a server with two addresses.
fn network(nat: NatConfig) -> NetworkSpec {
    let mut spec = NetworkSpec::default();
    let interface = |name: &str, addresses| InterfaceSpec { name: name.into(), addresses };
    spec.client.interfaces = vec![interface("a", vec![CLIENT])];
    spec.server.interfaces = vec![interface("net0", SERVERS.to_vec())];
    for (number, name) in ["a.forward", "a.reverse"].into_iter().enumerate() {
        let config = LinkConfig { delay: 1_000_000, ..LinkConfig::default() };
        let seed = LinkSeed::new(1, number as u64);
        spec.links.push(LinkSpec { name: name.into(), config, seed });
    }
    for server in SERVERS {
        for (from, to, link) in [(CLIENT, server, 0), (server, CLIENT, 1)] {
            let links = vec![link];
            spec.routes.push(RouteSpec { path: "a".into(), from, to, links, vanish_above: None });
        }
    }
    let (seed, inside) = (LinkSeed::new(2, 0), vec![CLIENT]);
    spec.nats = vec![NatSpec { name: "home".into(), inside, config: nat, seed }];
    spec
}

fn build(change: impl FnOnce(&mut NatConfig)) -> Option<Emulation> {
    let mut config = NatConfig::new(OUTSIDE);
    change(&mut config);
    let emulation = for_tests::build(network(config))?;
    emulation.start().unwrap();
    Some(emulation)
}

/// What is found from behind a box, of a server called by so many addresses.
fn look(change: impl FnOnce(&mut NatConfig), called: usize, more: &[&str]) -> Option<Found> {
    let emulation = build(change)?;
    let stage = Stage::new();
    let both = SERVERS.map(|ip| ip.to_string());
    let _server = stage.serve(emulation.server(), &both.join(","), &[]);
    Some(stage.doctor(emulation.client(), &both[..called].join(","), more))
}

const fn word(kind: NatDependence) -> &'static str {
    match kind {
        NatDependence::EndpointIndependent => "endpoint-independent",
        NatDependence::AddressDependent => "address-dependent",
        NatDependence::AddressAndPortDependent => "address-and-port-dependent",
    }
}

/// Boxes that map so, with each kind of filter.
fn find_kinds(mapping: NatDependence) {
    std::thread::scope(|scope| {
        for filtering in NatDependence::ALL {
            let find = move || {
                let own = |nat: &mut NatConfig| {
                    (nat.mapping, nat.filtering, nat.preserve_ports) = (mapping, filtering, false);
                };
                let Some(found) = look(own, 2, &[]) else { return };
                assert_eq!(found.code, 0, "{found:#?}");
                for number in [0, 1] {
                    let nat = &found.path(number)["nat"];
                    assert_eq!(nat["translated"], true, "{found:#?}");
                    let seen = nat["seen"].as_str().unwrap();
                    assert!(seen.starts_with("198.51.100.7:"), "{seen}");
                    assert_eq!(nat["mapping"], word(mapping), "{found:#?}");
                    assert_eq!(nat["filtering"], word(filtering), "{found:#?}");
                }
            };
            std::thread::Builder::new().spawn_scoped(scope, find).unwrap();
        }
    });
}

#[test]
fn boxes_that_map_whatever_the_endpoint_are_found() {
    find_kinds(NatDependence::EndpointIndependent);
}

#[test]
fn boxes_that_map_by_address_are_found() {
    find_kinds(NatDependence::AddressDependent);
}

#[test]
fn boxes_that_map_by_address_and_port_are_found() {
    find_kinds(NatDependence::AddressAndPortDependent);
}

#[test]
fn one_address_of_the_server_leaves_two_kinds_and_says_so() {
    let own = |nat: &mut NatConfig| {
        nat.mapping = NatDependence::AddressDependent;
        nat.filtering = NatDependence::AddressDependent;
    };
    let Some(found) = look(own, 1, &[]) else { return };
    let nat = &found.path(0)["nat"];
    assert_eq!(nat["mapping"], "not-port-dependent", "{found:#?}");
    assert_eq!(nat["filtering"], "not-port-dependent");
    let (what, remedy) = found.only("nat", "ok");
    assert!(what.contains("endpoint-independent or address-dependent"), "{what}");
    assert!(remedy.contains("second address"), "{remedy}");
}

/// RFC 4787 section 4.1: probes come from other addresses than the association, and nothing is
/// concluded from their silence.
#[test]
fn boxes_that_draw_an_address_for_each_socket_are_told() {
    let own = |nat: &mut NatConfig| {
        nat.external = (10..18).map(|host| [198, 51, 100, host].into()).collect();
        nat.pooling = NatPooling::Arbitrary;
    };
    let Some(found) = look(own, 2, &[]) else { return };
    assert_eq!(found.code, 0, "{found:#?}");
    let nat = &found.path(0)["nat"];
    let other = nat["other_address"].as_str().unwrap();
    assert!(other.starts_with("198.51.100.") && !nat["seen"].as_str().unwrap().starts_with(other));
    assert_eq!(nat["mapping"], "endpoint-independent", "{found:#?}");
    assert!(found.path(0)["no_mirror"].is_null(), "{found:#?}");
    let told = found.findings("nat", "warn");
    assert!(told.iter().any(|f| f["what"].as_str().unwrap().contains("pooling arbitrary")));
}

#[test]
fn how_long_a_way_in_stays_open_is_found() {
    let own = |nat: &mut NatConfig| nat.timeout = 2_000_000_000;
    let Some(found) = look(own, 1, &["--long=4s"]) else { return };
    let lifetime = &found.path(0)["nat"]["lifetime"];
    let [open, closed] = ["open_s", "closed_s"].map(|field| lifetime[field].as_f64().unwrap());
    // However late packets are, none gets in after that time.
    assert!(open < 2.0 && open < closed && closed <= 4.0, "{found:#?}");
    assert!(found.talk.contains("of silence the way in is open"), "{}", found.talk);
}
