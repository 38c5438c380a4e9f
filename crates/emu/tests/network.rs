//! Networks with real sockets in them. They need root; without it they say that they are skipped,
//! and fail where POLYPATH_REQUIRE_ROOT=1 says that they must not be.

use std::net::UdpSocket;
use std::time::Duration;

use polypath_emu::{
    Bounds, Emulation, Error, Host, InterfaceSpec, LinkSpec, NetworkSpec, RouteSpec,
};
use polypath_link::{LinkConfig, LinkSeed, Queue};

const MS: u64 = 1_000_000;

/// Paths a and b, each with a link in either direction.
fn two_paths(rate: Option<u64>, delay: u64) -> NetworkSpec {
    let config =
        LinkConfig { rate, delay, queue: Queue::DropTailBytes(60_000), ..LinkConfig::default() };
    let mut spec = NetworkSpec::default();
    for (n, path) in ["a", "b"].into_iter().enumerate() {
        let ends = [1, 2].map(|host| format!("10.0.{}.{host}", n + 1).parse().unwrap());
        for (host, address) in [&mut spec.client, &mut spec.server].into_iter().zip(ends) {
            let name = path.to_owned();
            host.interfaces.push(InterfaceSpec { name, addresses: vec![address] });
        }
        for (direction, from, to) in [("forward", 0, 1), ("reverse", 1, 0)] {
            let links = vec![spec.links.len()];
            let seed = LinkSeed::new(1, spec.links.len() as u64);
            let name = format!("{path}.{direction}");
            spec.links.push(LinkSpec { name, config: config.clone(), seed });
            let (from, to) = (ends[from], ends[to]);
            spec.routes.push(RouteSpec { path: path.into(), from, to, links, vanish_above: None });
        }
    }
    spec
}

/// The network, or nothing without root.
fn build(spec: NetworkSpec) -> Option<Emulation> {
    match Emulation::build(spec) {
        Ok(emulation) => Some(emulation),
        Err(error @ (Error::NotRoot | Error::Missing { .. })) => {
            let required = std::env::var_os("POLYPATH_REQUIRE_ROOT").is_some_and(|v| v == "1");
            assert!(!required, "{error}");
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn sockets(emulation: &Emulation, path: usize) -> (UdpSocket, UdpSocket) {
    let bind = |host| {
        let address = emulation.addresses(host)[path];
        let namespace = emulation.namespace(host);
        let socket = namespace.run(|| UdpSocket::bind((address, 7000)).unwrap()).unwrap();
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
        let found = emulation.measure(&bounds).unwrap();
        println!("{found:#?} {:?}", emulation.stats().unwrap().lateness);
        assert_eq!(found.len(), 4);
        let faults: Vec<_> = found.iter().filter_map(|route| route.fault(&bounds)).collect();
        assert!(faults.is_empty(), "{faults:?}");
    }
}
