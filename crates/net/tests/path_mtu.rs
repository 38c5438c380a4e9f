//! Path MTU discovery over the loopback device, whose packets may be as large as IP allows.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{Bytes, Config, Encapsulation, Endpoint, MtuState, PathId};
use polypath_proto::config::{AssocConfig, PathMtuDiscovery};

const PORT: u16 = 5000;

fn searching(config: Config) -> Config {
    let on = Some(PathMtuDiscovery::default());
    let assoc = AssocConfig { path_mtu_discovery: on, ..(*config.assoc).clone() };
    config.assoc(Arc::new(assoc))
}

async fn finds_the_largest(server: IpAddr, client: IpAddr) {
    let encapsulation = Encapsulation::Udp(0);
    let config = Config::insecure_server([server], PORT).encapsulation(encapsulation);
    let server = Endpoint::bind(searching(config)).unwrap();
    let client = Endpoint::bind(searching(Config::insecure_client([client]))).unwrap();
    let remote = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&remote, PORT), server.accept());
    let (a, b) = (a.unwrap(), b.unwrap());
    for _ in 0..500 {
        if a.path_mtu(PathId(0)).unwrap().state == MtuState::Complete {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let found = a.path_mtu(PathId(0)).unwrap();
    assert_eq!((found.state, found.mtu), (MtuState::Complete, 65_532), "{found:?}");
    let data: Bytes = (0..4_000_000_u32).map(|i| (i % 251) as u8).collect();
    let (sent, received) = tokio::join!(a.send(0, data.clone()), b.recv());
    sent.unwrap();
    assert_eq!(received.unwrap().unwrap().data, data);
    let stats = a.paths().remove(0).stats;
    let average = stats.bytes_sent / stats.packets_sent;
    assert!(average > 10_000, "large packets are used: {average} bytes on average");
}

#[tokio::test]
async fn packets_of_64_kib_over_ipv4() {
    finds_the_largest([127, 0, 0, 1].into(), [127, 0, 0, 2].into()).await;
}

#[tokio::test]
async fn packets_of_64_kib_over_ipv6() {
    let loopback: IpAddr = "::1".parse().unwrap();
    if std::net::UdpSocket::bind((loopback, 0)).is_err() {
        return eprintln!("skipped: no IPv6 here");
    }
    finds_the_largest(loopback, loopback).await;
}
