//! A transfer that stands still although the peer is heard, over real sockets.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use polypath_net::{
    AssocConfig, Config, Encapsulation, Endpoint, Event, Limit, Stall, StallDetectionConfig,
};

const PORT: u16 = 5000;
/// Messages of this test, of 16 KiB each: more than both buffers hold.
const MESSAGES: usize = 64;

#[tokio::test]
async fn a_peer_that_does_not_read_is_told_of_once() {
    let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let small = AssocConfig {
        receive_buffer: 64 << 10,
        send_buffer: 64 << 10,
        stall_detection: Some(StallDetectionConfig {
            interval: Duration::from_millis(50),
            stalled_after: Duration::from_millis(300),
        }),
        ..AssocConfig::default()
    };
    let mut server = Config::insecure_server([localhost], PORT);
    server.encapsulation = Encapsulation::Udp(0);
    server.assoc = small.clone().into();
    let mut client = Config::insecure_client([localhost]);
    client.assoc = small.into();
    let (server, client) = (Endpoint::bind(server).unwrap(), Endpoint::bind(client).unwrap());
    let there = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
    let (a, b) = (a.unwrap(), b.unwrap());
    let mut events = a.events();

    let sending = async {
        for _ in 0..MESSAGES {
            a.send(0, vec![7; 16 << 10]).await.unwrap();
        }
    };
    let reading = async {
        let mut limits = Vec::new();
        loop {
            match events.next().await.unwrap() {
                Event::Limited(limit) => limits.push(limit),
                Event::Stalled { cause, silence } => {
                    assert_eq!(cause, Stall::PeerReader);
                    assert!(silence >= Duration::from_millis(300), "{silence:?}");
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(limits.last(), Some(&Limit::PeerWindow), "{limits:?}");
        for _ in 0..MESSAGES {
            assert_eq!(b.recv().await.unwrap().unwrap().data.len(), 16 << 10);
        }
    };
    let both = async { tokio::join!(sending, reading) };
    tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
    a.shutdown().await.unwrap();
}
