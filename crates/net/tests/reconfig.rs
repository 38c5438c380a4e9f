//! Streams that are reset and added, and messages that are given up, over real sockets.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use polypath_net::{
    AssocConfig, Association, Bytes, Config, Encapsulation, Endpoint, Event, ExtensionConfig,
    ReconfigConfig, ReconfigError, Reliability, SendOptions, StreamDirection,
};

const PORT: u16 = 5000;

async fn pair(offered: ExtensionConfig, limits: ReconfigConfig) -> (Association, Association) {
    let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let assoc = |config: &mut Config, reconfiguration| {
        config.assoc =
            AssocConfig { extensions: offered, reconfiguration, ..(*config.assoc).clone() }.into();
    };
    let mut server = Config::insecure_server([localhost], PORT);
    server.encapsulation = Encapsulation::Udp(0);
    assoc(&mut server, limits);
    let mut client = Config::insecure_client([localhost]);
    assoc(&mut client, ReconfigConfig::default());
    let (server, client) = (Endpoint::bind(server).unwrap(), Endpoint::bind(client).unwrap());
    let there = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
    (a.unwrap(), b.unwrap())
}

#[tokio::test]
async fn streams_are_reset_and_added_while_messages_flow() {
    let limits = ReconfigConfig { max_inbound_streams: 12, ..ReconfigConfig::default() };
    let (a, b) = pair(ExtensionConfig::ALL, limits).await;
    let before = a.streams().0;
    for round in 0..3u8 {
        a.send(1, vec![round; 5_000]).await.unwrap();
        a.reset_streams(StreamDirection::Both, &[1]).await.unwrap();
    }
    a.reset_association().await.unwrap();
    assert!(matches!(a.reset_association().await, Err(ReconfigError::Refused(_))));
    a.add_streams(12 - before, 0).await.unwrap();
    assert_eq!(a.streams().0, 12);
    a.send(11, &b"on a new stream"[..]).await.unwrap();
    assert!(matches!(a.add_streams(1, 0).await, Err(ReconfigError::Denied)));
    for round in 0..3u8 {
        assert_eq!(b.recv().await.unwrap().unwrap().data, vec![round; 5_000]);
    }
    assert_eq!(b.recv().await.unwrap().unwrap().stream.0, 11);
    a.shutdown().await.unwrap();
}

#[tokio::test]
async fn without_the_extension_it_is_refused_at_once() {
    let (a, _b) = pair(ExtensionConfig::NONE, ReconfigConfig::default()).await;
    assert!(matches!(a.add_streams(1, 0).await, Err(ReconfigError::Refused(_))));
}

#[tokio::test]
async fn what_takes_too_long_is_given_up_and_said_so() {
    let (a, b) = pair(ExtensionConfig::ALL, ReconfigConfig::default()).await;
    let mut events = a.events();
    let options =
        SendOptions { reliability: Reliability::Timed(Duration::ZERO), ..SendOptions::default() };
    let id = a.send_with(0, Bytes::from_static(b"too late"), options).await.unwrap();
    a.send(0, &b"in time"[..]).await.unwrap();
    assert_eq!(b.recv().await.unwrap().unwrap().data, &b"in time"[..]);
    while let Some(event) = events.next().await {
        if let Event::Abandoned { message, sent, .. } = event {
            assert_eq!((message, sent), (id, false));
            break;
        }
    }
    assert_eq!(a.abandoned(Some(0)).timed.unsent, 1);
}
