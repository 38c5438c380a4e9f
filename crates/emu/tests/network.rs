//! Networks with real sockets in them. They need root; without it they say that they are skipped,
//! and fail where POLYPATH_REQUIRE_ROOT=1 says that they must not be.

use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::Duration;

use polypath_emu::for_tests::{self, build};
use polypath_emu::{Bounds, Emulation, Host, NetworkSpec};
use polypath_link::{Change, LinkConfig, Queue};

const MS: u64 = 1_000_000;

/// Paths a and b, each with a link in either direction.
fn two_paths(rate: Option<u64>, delay: u64) -> NetworkSpec {
    let queue = Queue::DropTailBytes(60_000);
    let link = LinkConfig { rate, delay, queue, ..LinkConfig::default() };
    for_tests::two_paths(["a", "b"], &link)
}

fn sockets(emulation: &Emulation, path: usize) -> (UdpSocket, UdpSocket) {
    sockets_at(emulation, path, 7000)
}

fn sockets_at(emulation: &Emulation, path: usize, port: u16) -> (UdpSocket, UdpSocket) {
    let bind = |host| {
        let address = emulation.addresses(host)[path];
        let namespace = emulation.namespace(host);
        let socket = namespace.run(|| UdpSocket::bind((address, port)).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    };
    let (client, server) = (bind(Host::Client), bind(Host::Server));
    client.connect(server.local_addr().unwrap()).unwrap();
    server.connect(client.local_addr().unwrap()).unwrap();
    (client, server)
}

fn crosses(from: &UdpSocket, to: &UdpSocket) -> bool {
    let mut buffer = [0; 2000];
    from.send(b"hello").unwrap();
    matches!(to.recv(&mut buffer), Ok(5))
}

#[test]
fn packets_cross_both_paths_both_ways() {
    let Some(emulation) = build(two_paths(Some(20_000_000), 5 * MS)) else { return };
    for path in 0..2 {
        let (client, server) = sockets(&emulation, path);
        assert!(crosses(&client, &server) && crosses(&server, &client), "path {path}");
    }
    let stats = emulation.stats().unwrap();
    assert!(stats.links.iter().all(|(_, link)| link.delivered == 1), "{stats:?}");
    assert_eq!(stats.lateness.frames, 4);
}

#[test]
fn a_large_datagram_goes_in_fragments_and_arrives_whole() {
    let Some(emulation) = build(two_paths(None, 0)) else { return };
    let (client, server) = sockets(&emulation, 1);
    let sent: Vec<u8> = (0..40_000).map(|n| (n % 251) as u8).collect();
    client.send(&sent).unwrap();
    let mut buffer = vec![0; 65_536];
    let len = server.recv(&mut buffer).unwrap();
    assert!(buffer[..len] == sent);
    assert!(emulation.stats().unwrap().links[2].1.delivered > 20);
}

#[test]
fn it_keeps_its_rates_and_delays() {
    for (rate, delay) in [(20_000_000, 5), (5_000_000, 100), (200_000_000, 1)] {
        let Some(emulation) = build(two_paths(Some(rate), delay * MS)) else { return };
        let bounds = Bounds::default();
        let found = emulation.measure_routes(&bounds).unwrap();
        assert_eq!(found.len(), 4);
        let faults: Vec<_> =
            found.iter().filter_map(|route| route.describe_fault(&bounds)).collect();
        assert!(faults.is_empty(), "{faults:?}");
    }
}

#[test]
fn a_cut_path_is_silent_until_it_is_restored() {
    let Some(emulation) = build(two_paths(None, MS)) else { return };
    let (client, server) = sockets(&emulation, 0);
    emulation.cut_path("a").unwrap();
    client.send(b"lost").unwrap();
    server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(server.recv(&mut [0; 10]).is_err());
    let (other, end) = sockets(&emulation, 1);
    assert!(crosses(&other, &end));
    emulation.restore_path("a").unwrap();
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert!(crosses(&client, &server));
    let stats = emulation.stats().unwrap();
    assert_eq!((stats.links[0].1.dropped.down, stats.links[0].1.delivered), (1, 1));
    let error = emulation.cut_path("c").unwrap_err().to_string();
    assert_eq!(error, "path \"c\" does not exist (there are: a, b)");
}

#[test]
fn an_interface_goes_down_and_comes_back_with_its_routes() {
    let Some(emulation) = build(two_paths(None, MS)) else { return };
    emulation.set_interface(Host::Client, "b", false).unwrap();
    let (client, server) = sockets(&emulation, 1);
    server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    // Linux sends by the other interface, whose path leads elsewhere.
    assert!(client.send(b"nowhere").is_err() || server.recv(&mut [0; 10]).is_err());
    emulation.set_interface(Host::Client, "b", true).unwrap();
    let (client, server) = sockets_at(&emulation, 1, 7001);
    assert!(crosses(&client, &server) && crosses(&server, &client));
}

#[test]
fn changes_on_schedule_begin_with_the_start() {
    let mut spec = two_paths(None, MS);
    spec.links[0].config.schedule = vec![(0, Change::Up(false))];
    let Some(emulation) = build(spec) else { return };
    let (client, server) = sockets(&emulation, 0);
    assert!(crosses(&client, &server));
    emulation.start().unwrap();
    client.send(b"lost").unwrap();
    assert!(crosses(&server, &client));
    assert_eq!(emulation.stats().unwrap().links[0].1.dropped.down, 1);
}

#[test]
fn large_packets_vanish_where_the_route_says_so() {
    let mut spec = two_paths(None, MS);
    spec.routes[0].vanish_above = Some(1300);
    let Some(emulation) = build(spec) else { return };
    let (client, server) = sockets(&emulation, 0);
    client.send(&[0; 1400]).unwrap();
    assert!(crosses(&client, &server));
    assert_eq!(emulation.stats().unwrap().vanished, 1);
}

#[test]
fn hosts_with_ipv6_and_one_server_address_are_reached_by_either_interface() {
    let mut spec = two_paths(None, MS);
    let v6 = |text: &str| -> std::net::IpAddr { text.parse().unwrap() };
    let (clients, server) = ([v6("fd00:0:0:1::1"), v6("fd00:0:0:2::1")], v6("fd00::2"));
    for (interface, address) in spec.client.interfaces.iter_mut().zip(clients) {
        interface.addresses = vec![address];
    }
    spec.server.interfaces.truncate(1);
    spec.server.interfaces[0].addresses = vec![server];
    for (route, client) in spec.routes.chunks_mut(2).zip(clients) {
        (route[0].from, route[0].to) = (client, server);
        (route[1].from, route[1].to) = (server, client);
    }
    let Some(emulation) = build(spec) else { return };
    for (n, client) in clients.into_iter().enumerate() {
        let bind = |host: Host, address| {
            let bound = emulation.namespace(host).run(|| UdpSocket::bind((address, 0)).unwrap());
            let socket = bound.unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket
        };
        let (client, server) = (bind(Host::Client, client), bind(Host::Server, server));
        client.connect(server.local_addr().unwrap()).unwrap();
        server.connect(client.local_addr().unwrap()).unwrap();
        assert!(crosses(&client, &server) && crosses(&server, &client), "client {n}");
    }
    let stats = emulation.stats().unwrap();
    assert!(stats.links.iter().all(|(_, link)| link.delivered == 1), "{stats:?}");
}

#[test]
fn processes_end_with_the_network() {
    let Some(emulation) = build(two_paths(None, 0)) else { return };
    let mut child = emulation.client().spawn(Command::new("sleep").arg("1000")).unwrap();
    drop(emulation);
    // Killed, not ended: 9 is SIGKILL.
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}
