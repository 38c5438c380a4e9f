//! Addresses of this host that come and go during a transfer, in emulated networks. They need root;
//! without it they say that they are skipped, and fail where POLYPATH_REQUIRE_ROOT=1 says that they
//! must not be.

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use polypath_emu::{Emulation, Host, NetworkSpec, for_tests};
use polypath_link::{LinkConfig, Queue};
use polypath_net::{
    AssocConfig, Association, Config, Endpoint, ExtensionConfig, Follow, PathState,
};

const MS: u64 = 1_000_000;
const PORT: u16 = 5000;
const BLOCK: usize = 50_000;

fn network() -> NetworkSpec {
    let queue = Queue::DropTailBytes(100_000);
    let config =
        LinkConfig { rate: Some(20_000_000), delay: 5 * MS, queue, ..LinkConfig::default() };
    for_tests::two_paths(["aa", "ab"], &config)
}

/// The addresses of this host change during transfers.
fn config(config: Config) -> Config {
    let extensions =
        ExtensionConfig { authentication: true, dynamic_addresses: true, ..ExtensionConfig::NONE };
    let assoc = AssocConfig { extensions, ..(*config.assoc).clone() };
    config.assoc(Arc::new(assoc))
}

fn ip(emulation: &Emulation, arguments: &[&str]) {
    let mut command = Command::new("ip");
    let mut child =
        emulation.namespace(Host::Client).spawn(command.args(arguments)).expect("ip starts");
    assert!(child.wait().expect("ip ends").success(), "ip {arguments:?}");
}

/// Until the client has an active path from `address`, or none any more.
async fn settled(association: &Association, address: &str, wanted: bool) {
    let address: IpAddr = address.parse().unwrap();
    let active = || {
        association
            .paths()
            .iter()
            .any(|p| p.stats.local.ip() == address && p.stats.state == PathState::Active)
    };
    for _ in 0..200 {
        if active() == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("path from {address} active: {}", active());
}

#[tokio::test]
async fn addresses_that_come_and_go_on_the_host_are_paths_that_come_and_go() {
    let Some(emulation) = for_tests::build(network()) else { return };
    ip(&emulation, &["address", "del", "10.0.2.1/24", "dev", "ab"]);
    let server = config(Config::insecure_server(emulation.addresses(Host::Server), PORT));
    let local: [IpAddr; 1] = ["10.0.1.1".parse().unwrap()];
    let follow = Follow::families_of(&local).on_devices(["aa", "ab"]);
    let client = config(Config::insecure_client(local)).follow(follow);
    let bind = |host, config| emulation.namespace(host).run(|| Endpoint::bind(config));
    let server = bind(Host::Server, server).unwrap().unwrap();
    let client = bind(Host::Client, client).unwrap().unwrap();
    emulation.start().unwrap();
    let remote: Vec<SocketAddr> = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&remote, PORT), server.accept());
    let (a, b) = (Arc::new(a.unwrap()), b.unwrap());
    let sender = a.clone();
    let sending = tokio::spawn(async move {
        for i in 0..400_u32 {
            let block = Bytes::from(i.to_be_bytes().repeat(BLOCK / 4));
            sender.send(0, block).await.unwrap();
        }
    });
    let receiving = tokio::spawn(async move {
        for i in 0..400_u32 {
            let message = b.recv().await.unwrap().unwrap();
            assert!(message.data == i.to_be_bytes().repeat(BLOCK / 4), "block {i}");
        }
        b
    });
    settled(&a, "10.0.1.1", true).await;
    ip(&emulation, &["address", "add", "10.0.2.1/24", "dev", "ab"]);
    settled(&a, "10.0.2.1", true).await;
    ip(&emulation, &["address", "del", "10.0.1.1/24", "dev", "aa"]);
    settled(&a, "10.0.1.1", false).await;
    assert!(!receiving.is_finished(), "the transfer goes on meanwhile");
    sending.await.unwrap();
    let b = tokio::time::timeout(Duration::from_secs(60), receiving).await.unwrap().unwrap();
    let carried = |p: &polypath_net::PathInfo| p.stats.payload_bytes > 0;
    let paths = a.paths();
    let new = paths.iter().filter(|p| p.stats.local.ip().to_string() == "10.0.2.1");
    assert!(new.into_iter().any(carried), "the new address carried data");
    a.abort("done");
    b.closed().await;
}

/// Until the endpoint has a socket at `address`, or none any more.
async fn has_address(endpoint: &Endpoint, address: &str, wanted: bool) {
    let address: IpAddr = address.parse().unwrap();
    for _ in 0..200 {
        if endpoint.local_addresses().iter().any(|own| own.ip() == address) == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{:?} while {address} there: {wanted}", endpoint.local_addresses());
}

#[tokio::test]
async fn devices_that_come_up_later_and_storms_of_changes_are_followed() {
    let Some(emulation) = for_tests::build(network()) else { return };
    ip(&emulation, &["link", "set", "ab", "down"]);
    let local: [IpAddr; 1] = ["10.0.1.1".parse().unwrap()];
    let follow = Follow::families_of(&local).on_devices(["aa", "ab"]);
    let client = config(Config::insecure_client(local)).follow(follow);
    let bind = || emulation.namespace(Host::Client).run(|| Endpoint::bind(client));
    let client = bind().unwrap().unwrap();
    emulation.start().unwrap();
    has_address(&client, "10.0.1.1", true).await;
    has_address(&client, "10.0.2.1", false).await;
    // Its address is there already: only the device says that it counts from now on.
    ip(&emulation, &["link", "set", "ab", "up"]);
    has_address(&client, "10.0.2.1", true).await;
    ip(&emulation, &["link", "set", "ab", "down"]);
    has_address(&client, "10.0.2.1", false).await;

    // More messages at once than the socket that tells of them holds.
    let change =
        |what: &str, n: u32| format!("address {what} 10.9.{}.{}/32 dev aa\n", n / 250, n % 250 + 1);
    let mut storm: String = (0..600).map(|n| change("add", n)).collect();
    storm.extend((0..600).map(|n| change("del", n)));
    storm.push_str("link set ab up\n");
    let file = std::env::temp_dir().join(format!("polypath-storm-{}", std::process::id()));
    std::fs::write(&file, storm).unwrap();
    ip(&emulation, &["-batch", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    has_address(&client, "10.0.2.1", true).await;
    has_address(&client, "10.9.2.1", false).await;
    has_address(&client, "10.0.1.1", true).await;
}
