//! Boxes that translate addresses, with real sockets on both sides. They need root; without it they
//! say that they are skipped, and fail where POLYPATH_REQUIRE_ROOT=1 says that they must not be.

mod common;

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use common::{SHORT, V4, V6, WAIT, build, ip, uplinks};
use polypath_emu::{Emulation, Host, NatCounters, NetworkSpec};
use polypath_link::{NatChange, NatConfig, NatDependence};

fn started(spec: NetworkSpec) -> Option<Emulation> {
    let emulation = build(spec)?;
    emulation.start().unwrap();
    Some(emulation)
}

fn socket(emulation: &Emulation, host: Host, address: &str, port: u16) -> UdpSocket {
    common::socket(emulation.namespace(host), ip(address), port)
}

/// What came, and from where; `None` if nothing did.
fn receive(socket: &UdpSocket, wait: Duration) -> Option<SocketAddr> {
    common::receive(socket, wait)
}

fn counters(emulation: &Emulation, number: usize) -> NatCounters {
    emulation.stats().unwrap().nats[number].1
}

#[test]
fn both_uplinks_reach_one_server_address_and_are_answered() {
    for family in [V4, V6] {
        let Some(emulation) = started(uplinks(family, [0, 1], |_| ())) else { return };
        let server = socket(&emulation, Host::Server, family.servers[0], 9899);
        for (client, external) in family.clients.into_iter().zip(family.external) {
            let client = socket(&emulation, Host::Client, client, 5000);
            client.send_to(b"hello", server.local_addr().unwrap()).unwrap();
            assert_eq!(receive(&server, WAIT), Some(SocketAddr::new(ip(external), 5000)));
            server.send_to(b"hello", (ip(external), 5000)).unwrap();
            assert_eq!(receive(&client, WAIT), Some(server.local_addr().unwrap()));
        }
        let links = emulation.stats().unwrap().links;
        assert!(links.iter().all(|(_, link)| link.delivered == 1), "{links:?}");
        let packets = counters(&emulation, 1).packets;
        assert_eq!((packets.outbound, packets.inbound), (1, 1));
    }
}

#[test]
fn every_kind_maps_and_filters_as_rfc_4787_says() {
    let kinds = NatDependence::ALL;
    for (mapping, filtering) in kinds.iter().flat_map(|m| kinds.iter().map(move |f| (*m, *f))) {
        let own = move |config: &mut NatConfig| {
            (config.mapping, config.filtering) = (mapping, filtering);
        };
        let Some(emulation) = started(uplinks(V4, [0, 1], own)) else { return };
        let client = socket(&emulation, Host::Client, V4.clients[0], 5000);
        let [known, other_port, other_host] = [(0, 9899), (0, 9900), (1, 9899)]
            .map(|(n, port)| socket(&emulation, Host::Server, V4.servers[n], port));
        client.send_to(b"hello", known.local_addr().unwrap()).unwrap();
        let mapped = receive(&known, WAIT).unwrap();
        // In the order in which packets are sent, so that one wait is enough for all.
        let expected: Vec<_> = [
            (&other_host, filtering == NatDependence::EndpointIndependent),
            (&other_port, filtering != NatDependence::AddressAndPortDependent),
            (&known, true),
        ]
        .into_iter()
        .filter_map(|(from, passes)| {
            from.send_to(b"hello", mapped).unwrap();
            passes.then(|| from.local_addr().unwrap())
        })
        .collect();
        let came: Vec<_> = expected.iter().map(|_| receive(&client, WAIT).unwrap()).collect();
        assert_eq!(came, expected, "{mapping:?} {filtering:?}");
        for (to, same) in [
            (&other_port, mapping != NatDependence::AddressAndPortDependent),
            (&other_host, mapping == NatDependence::EndpointIndependent),
        ] {
            client.send_to(b"hello", to.local_addr().unwrap()).unwrap();
            let seen = receive(to, WAIT).unwrap();
            assert_eq!(seen == mapped, same, "{mapping:?} {filtering:?}");
        }
        let stats = counters(&emulation, 0).packets;
        assert_eq!((stats.inbound + stats.filtered, stats.unmapped), (3, 0));
    }
}

#[test]
fn nobody_outside_reaches_an_address_inside() {
    let Some(emulation) = started(uplinks(V4, [0, 1], |_| ())) else { return };
    let client = socket(&emulation, Host::Client, V4.clients[0], 5000);
    let server = socket(&emulation, Host::Server, V4.servers[0], 9899);
    client.send_to(b"hello", server.local_addr().unwrap()).unwrap();
    let mapped = receive(&server, WAIT).unwrap();
    server.send_to(b"by the private address", client.local_addr().unwrap()).unwrap();
    server.send_to(b"hello", mapped).unwrap();
    // Only the second gets in.
    assert_eq!(receive(&client, WAIT), Some(server.local_addr().unwrap()));
    assert_eq!(receive(&client, SHORT), None);
    assert_eq!(emulation.stats().unwrap().unrouted, 1);
}

#[test]
fn who_is_not_let_in_hears_of_it_where_boxes_answer() {
    for family in [V4, V6] {
        let answers = |config: &mut NatConfig| config.answers = true;
        let Some(emulation) = started(uplinks(family, [0, 1], answers)) else { return };
        let server = socket(&emulation, Host::Server, family.servers[0], 9899);
        server.connect((ip(family.external[0]), 5000)).unwrap();
        server.send(b"hello").unwrap();
        server.set_read_timeout(Some(WAIT)).unwrap();
        let error = server.recv(&mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let counters = counters(&emulation, 0);
        assert_eq!((counters.answers, counters.packets.unmapped), (1, 1));
    }
}

#[test]
fn errors_of_hosts_cross_the_box_both_ways() {
    for family in [V4, V6] {
        let Some(emulation) = started(uplinks(family, [0, 1], |_| ())) else { return };
        let server = socket(&emulation, Host::Server, family.servers[0], 9899);
        let client = socket(&emulation, Host::Client, family.clients[0], 5000);
        // Nobody listens at the server's port 9.
        client.connect((ip(family.servers[0]), 9)).unwrap();
        client.send(b"hello").unwrap();
        client.set_read_timeout(Some(WAIT)).unwrap();
        let error = client.recv(&mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        // The client closes its port while the server answers.
        let client = socket(&emulation, Host::Client, family.clients[0], 5001);
        client.send_to(b"hello", server.local_addr().unwrap()).unwrap();
        let mapped = receive(&server, WAIT).unwrap();
        drop(client);
        server.connect(mapped).unwrap();
        server.send(b"hello").unwrap();
        let error = server.recv(&mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(counters(&emulation, 0).errors, 2);
    }
}

#[test]
fn a_new_port_a_new_address_and_no_memory() {
    let Some(emulation) = started(uplinks(V4, [0, 1], |_| ())) else { return };
    let server = socket(&emulation, Host::Server, V4.servers[0], 9899);
    let client = socket(&emulation, Host::Client, V4.clients[0], 5000);
    let out = || {
        client.send_to(b"hello", server.local_addr().unwrap()).unwrap();
        receive(&server, WAIT).unwrap()
    };
    let first = out();
    emulation.change_nat("home0", NatChange::Rebind).unwrap();
    let second = out();
    assert!(second.ip() == first.ip() && second.port() != first.port());
    emulation.change_nat("home0", NatChange::Readdress(ip("198.51.100.77"))).unwrap();
    let third = out();
    assert_eq!(third, SocketAddr::new(ip("198.51.100.77"), second.port()));
    server.send_to(b"hello", third).unwrap();
    assert!(receive(&client, WAIT).is_some());
    emulation.change_nat("home0", NatChange::Forget).unwrap();
    server.send_to(b"hello", third).unwrap();
    assert_eq!(receive(&client, SHORT), None);
    let error = emulation.change_nat("away", NatChange::Forget).unwrap_err().to_string();
    assert_eq!(error, "nat \"away\" does not exist (there are: home0, home1)");
}

#[test]
fn hosts_inside_meet_at_their_external_endpoints() {
    for behind in [[0, 0], [0, 1]] {
        let open = |config: &mut NatConfig| config.filtering = NatDependence::EndpointIndependent;
        let Some(emulation) = started(uplinks(V4, behind, open)) else { return };
        let server = socket(&emulation, Host::Server, V4.servers[0], 9899);
        let [(one, first), (two, second)] = [(0, 5000), (1, 6000)].map(|(n, port)| {
            let client = socket(&emulation, Host::Client, V4.clients[n], port);
            client.send_to(b"hello", server.local_addr().unwrap()).unwrap();
            let mapped = receive(&server, WAIT).unwrap();
            (client, mapped)
        });
        one.send_to(b"hello", second).unwrap();
        assert_eq!(receive(&two, WAIT), Some(first), "{behind:?}");
        two.send_to(b"hello", first).unwrap();
        assert_eq!(receive(&one, WAIT), Some(second), "{behind:?}");
    }
}

#[test]
fn tcp_and_ping_pass_too() {
    let Some(emulation) = started(uplinks(V4, [0, 1], |_| ())) else { return };
    let address = SocketAddr::new(ip(V4.servers[0]), 8080);
    let listener =
        emulation.server().run(|| std::net::TcpListener::bind(address).unwrap()).unwrap();
    let connect = || std::net::TcpStream::connect_timeout(&address, WAIT);
    let client = emulation.client().run(connect).unwrap().unwrap();
    let (_, peer) = listener.accept().unwrap();
    assert_eq!(peer, SocketAddr::new(ip(V4.external[0]), client.local_addr().unwrap().port()));
    let mut ping = Command::new("ping");
    ping.args(["-c", "1", "-W", "5", "-I", V4.clients[1], V4.servers[0]]);
    let Ok(mut ping) = emulation.client().spawn(&mut ping) else {
        return eprintln!("skipped: there is no ping");
    };
    assert!(ping.wait().unwrap().success());
    assert_eq!(counters(&emulation, 1).packets.inbound, 1);
}

#[test]
fn links_are_measured_before_boxes_begin() {
    let Some(emulation) = build(uplinks(V4, [0, 1], |_| ())) else { return };
    let bounds = polypath_emu::Bounds::default();
    assert_eq!(emulation.measure_routes(&bounds).unwrap().len(), 12);
}
