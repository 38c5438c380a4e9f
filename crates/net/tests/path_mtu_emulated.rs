//! Path MTU discovery in emulated networks: real sockets, links that carry less than the interfaces
//! send. They need root; without it they say that they are skipped, and fail where
//! POLYPATH_REQUIRE_ROOT=1 says that they must not be.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use polypath_emu::{Emulation, Host, NetworkSpec, for_tests};
use polypath_link::{LinkConfig, Queue};
use polypath_net::{Association, Config, Encapsulation, Endpoint, MtuState, PathId};
use polypath_proto::config::{AssocConfig, PathMtuDiscovery};

const MS: u64 = 1_000_000;
const PORT: u16 = 5000;

/// Two paths of interfaces that send 9000 bytes; the first one's link drops what is above 1400.
fn network() -> NetworkSpec {
    let queue = Queue::DropTailBytes(400_000);
    let config =
        LinkConfig { rate: Some(50_000_000), delay: 5 * MS, queue, ..LinkConfig::default() };
    let mut spec = for_tests::two_paths(["da", "db"], &config);
    spec.mtu = Some(9000);
    for route in spec.routes.iter_mut().filter(|route| route.path == "da") {
        route.vanish_above = Some(1400);
    }
    spec
}

fn endpoint(emulation: &Emulation, host: Host, encapsulation: Encapsulation) -> Endpoint {
    let addresses = emulation.addresses(host);
    let config = match host {
        Host::Client => Config::insecure_client(addresses),
        Host::Server => Config::insecure_server(addresses, PORT),
    };
    let on = Some(PathMtuDiscovery::default());
    let assoc = AssocConfig { path_mtu_discovery: on, ..(*config.assoc).clone() };
    let config = config.assoc(Arc::new(assoc)).encapsulation(encapsulation);
    emulation.namespace(host).run(|| Endpoint::bind(config)).unwrap().unwrap()
}

async fn settled(association: &Association, path: PathId) -> u32 {
    for _ in 0..1200 {
        if association.path_mtu(path).unwrap().state == MtuState::Complete {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let found = association.path_mtu(path).unwrap();
    assert_eq!(found.state, MtuState::Complete, "{found:?}");
    found.mtu
}

async fn both_paths_find_their_size(encapsulation: [Encapsulation; 2]) {
    let Some(emulation) = for_tests::build(network()) else { return };
    let server = endpoint(&emulation, Host::Server, encapsulation[1]);
    let client = endpoint(&emulation, Host::Client, encapsulation[0]);
    emulation.start().unwrap();
    let remote: Vec<SocketAddr> = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&remote, PORT), server.accept());
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(settled(&a, PathId(0)).await, 1400, "a link that says nothing");
    assert_eq!(settled(&a, PathId(1)).await, 9000, "the interface's own");
    let data: Bytes = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let (sent, received) = tokio::join!(a.send(0, data.clone()), b.recv());
    sent.unwrap();
    assert_eq!(received.unwrap().unwrap().data, data);
    a.abort("done");
    b.closed().await;
}

#[tokio::test]
async fn in_udp() {
    both_paths_find_their_size([Encapsulation::Udp(0), Encapsulation::Udp(9899)]).await;
}

#[tokio::test]
async fn over_raw_ip() {
    both_paths_find_their_size([Encapsulation::Raw, Encapsulation::Raw]).await;
}

#[tokio::test]
async fn without_discovery_packets_are_as_large_as_the_interface_takes() {
    // Of raw packets the system makes fragments.
    for (encapsulation, wanted) in [
        ([Encapsulation::Udp(0), Encapsulation::Udp(9899)], [1300, 1500]),
        ([Encapsulation::Raw; 2], [1500, 1500]),
    ] {
        let Some(emulation) = for_tests::build(network()) else { return };
        let open = |host, encapsulation| {
            let addresses = emulation.addresses(host);
            let config = match host {
                Host::Client => Config::insecure_client(addresses),
                Host::Server => Config::insecure_server(addresses, PORT),
            };
            let config = config.encapsulation(encapsulation);
            emulation.namespace(host).run(|| Endpoint::bind(config)).unwrap().unwrap()
        };
        let narrow = || {
            let set = ["link", "set", "dev", "da", "mtu", "1300"];
            std::process::Command::new("ip").args(set).status().unwrap()
        };
        assert!(emulation.namespace(Host::Client).run(narrow).unwrap().success());
        let server = open(Host::Server, encapsulation[1]);
        let client = open(Host::Client, encapsulation[0]);
        emulation.start().unwrap();
        let remote: Vec<SocketAddr> = server.local_addresses();
        let (a, b) = tokio::join!(client.connect(&remote, PORT), server.accept());
        let (a, b) = (a.unwrap(), b.unwrap());
        let data: Bytes = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
        let carried = || a.paths().into_iter().map(|path| path.stats.payload_bytes);
        // What was refused at first is sent again after a timeout; then both paths carry.
        let until_both_carry = async {
            while carried().any(|bytes| bytes < 1_000_000) {
                let (sent, received) = tokio::join!(a.send(0, data.clone()), b.recv());
                sent.unwrap();
                assert_eq!(received.unwrap().unwrap().data, data);
            }
        };
        let done = tokio::time::timeout(Duration::from_secs(30), until_both_carry).await;
        assert!(done.is_ok(), "{:#?}", a.paths());
        let sizes: Vec<u32> = a.paths().iter().map(|path| path.mtu.mtu).collect();
        assert_eq!(sizes, wanted, "{encapsulation:?}");
        a.abort("done");
        b.closed().await;
    }
}
