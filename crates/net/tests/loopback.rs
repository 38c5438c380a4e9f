//! Endpoints of one process over the loopback device: real sockets, real time, no assertion about
//! how long anything takes.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use polypath_net::{
    Association, BindError, Bytes, CloseReason, Closed, Config, ConnectError, Encapsulation,
    Endpoint, ExtensionConfig, SendError, SendOptions, Service, StreamNeeds,
};

const PORT: u16 = 5000;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

/// A server at these addresses, at a UDP port of its own.
fn server(addresses: &[u8]) -> Endpoint {
    let config = Config::insecure_server(addresses.iter().map(|a| ip(*a)), PORT);
    Endpoint::bind(config.encapsulation(Encapsulation::Udp(0))).unwrap()
}

fn client(addresses: &[u8]) -> Endpoint {
    Endpoint::bind(Config::insecure_client(addresses.iter().map(|a| ip(*a)))).unwrap()
}

async fn pair(clients: &[u8], servers: &[u8]) -> (Association, Association, Endpoint, Endpoint) {
    let (server, client) = (server(servers), client(clients));
    let there = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
    (a.unwrap(), b.unwrap(), client, server)
}

fn pattern(len: usize, seed: usize) -> Bytes {
    (0..len).map(|i| (i * 31 + seed * 7) as u8).collect()
}

#[tokio::test]
async fn messages_of_all_sizes_arrive_whole_and_in_order() {
    let (a, b, ..) = pair(&[1], &[2]).await;
    let sizes = [1, 4, 1000, 1452, 1453, 10_000, 100_000, 1 << 20];
    let sending = async {
        for (i, len) in sizes.into_iter().enumerate() {
            a.send(3, pattern(len, i)).await.unwrap();
        }
        a.shutdown().await.unwrap();
    };
    let receiving = async {
        for (i, len) in sizes.into_iter().enumerate() {
            let message = b.recv().await.unwrap().unwrap();
            assert_eq!((message.stream.0, message.data), (3, pattern(len, i)));
        }
        assert!(b.recv().await.unwrap().is_none());
    };
    tokio::join!(sending, receiving);
}

#[tokio::test]
async fn every_path_carries_data_and_one_server_address_is_enough() {
    for (clients, servers) in [(&[1, 2][..], &[3, 4][..]), (&[1, 2, 5][..], &[3][..])] {
        let (a, b, ..) = pair(clients, servers).await;
        assert_eq!(a.paths().len(), clients.len());
        let messages = (0..4000).map(|i| pattern(1400, i));
        let sending = async {
            a.send_all(0, messages, SendOptions::default()).await.unwrap();
            a.begin_shutdown();
        };
        let receiving = async {
            let mut received = Vec::new();
            while b.recv_many(&mut received, 100).await.unwrap() > 0 {}
            assert_eq!(received.len(), 4000);
            assert!(received.iter().enumerate().all(|(i, m)| m.data == pattern(1400, i)));
        };
        tokio::join!(sending, receiving);
        let used = a.paths().iter().filter(|p| p.stats.data_chunks > 0).count();
        assert!(used >= 1, "{:?}", a.paths());
    }
}

/// SCTP_NODELAY (RFC 6458 section 8.1.5) can be switched while the association lives; nothing is
/// held for ever either way.
#[tokio::test]
async fn small_messages_arrive_whether_or_not_they_wait_for_company() {
    let (a, b, ..) = pair(&[1], &[2]).await;
    assert!(a.nodelay(), "unless it is asked for, nothing waits");
    for on in [false, true] {
        a.set_nodelay(on);
        assert_eq!(a.nodelay(), on);
        let sending = async {
            for i in 0..100 {
                a.send(0, pattern(50, i)).await.unwrap();
            }
        };
        let receiving = async {
            for i in 0..100 {
                assert_eq!(b.recv().await.unwrap().unwrap().data, pattern(50, i));
            }
        };
        tokio::join!(sending, receiving);
    }
    a.set_nodelay(false);
    a.send(0, pattern(50, 1)).await.unwrap();
    a.send(0, pattern(50, 2)).await.unwrap();
    let (done, last) = tokio::join!(a.shutdown(), async {
        (b.recv().await.unwrap().unwrap(), b.recv().await.unwrap().unwrap())
    });
    done.unwrap();
    assert_eq!(last.1.data, pattern(50, 2));
}

/// Two megabytes and a goodbye from one endpoint to the other.
async fn carry(server: Endpoint, client: Endpoint) {
    let there = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
    let (a, b) = (a.unwrap(), b.unwrap());
    let sending = async {
        for i in 0..20 {
            a.send(0, pattern(100_000, i)).await.unwrap();
        }
        a.shutdown().await.unwrap();
    };
    let receiving = async {
        for i in 0..20 {
            assert_eq!(b.recv().await.unwrap().unwrap().data, pattern(100_000, i));
        }
        assert!(b.recv().await.unwrap().is_none());
    };
    tokio::join!(sending, receiving);
}

#[tokio::test]
async fn ipv6_carries_the_same() {
    let local = || [IpAddr::from(std::net::Ipv6Addr::LOCALHOST)];
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        return eprintln!("skipped: this host has no IPv6");
    }
    let config = Config::insecure_server(local(), PORT);
    let server = config.encapsulation(Encapsulation::Udp(0));
    carry(
        Endpoint::bind(server).unwrap(),
        Endpoint::bind(Config::insecure_client(local())).unwrap(),
    )
    .await;
}

#[tokio::test]
async fn raw_ip_carries_the_same_where_it_is_allowed() {
    let raw = |config: Config| Endpoint::bind(config.encapsulation(Encapsulation::Raw));
    let server = match raw(Config::insecure_server([ip(6)], PORT)) {
        Ok(server) => server,
        Err(BindError::Permission { .. } | BindError::KernelSctp) => {
            assert!(std::env::var_os("POLYPATH_REQUIRE_ROOT").is_none(), "no raw sockets");
            return eprintln!("skipped: raw sockets need root, and a kernel without SCTP");
        }
        Err(other) => panic!("{other}"),
    };
    assert_eq!(server.local_addresses()[0].port(), 0);
    carry(server, raw(Config::insecure_client([ip(5)])).unwrap()).await;
}

#[tokio::test]
async fn a_slow_reader_holds_the_sender_up_and_loses_nothing() {
    let (a, b, ..) = pair(&[1], &[2]).await;
    let sent = tokio::time::timeout(Duration::from_millis(300), async {
        for i in 0.. {
            a.send(0, pattern(100_000, i)).await.unwrap();
        }
    });
    assert!(sent.await.is_err(), "sending never waited");
    let sent = a.stats().messages_sent;
    a.begin_shutdown();
    let mut received = 0;
    while let Some(message) = b.recv().await.unwrap() {
        assert_eq!(message.data, pattern(100_000, received));
        received += 1;
    }
    assert_eq!(received as u64, sent);
}

#[tokio::test]
async fn a_sender_that_waits_is_not_woken_for_room_that_is_kept_for_others() {
    let (a, _b, ..) = pair(&[1], &[2]).await;
    let needs = StreamNeeds { service: Service::LowDelay, ..StreamNeeds::default() };
    a.set_stream_needs(0, needs).unwrap();
    let mut polls = 0;
    let endless = std::iter::repeat_with(|| pattern(10_000, 1));
    let sending = a.send_all(1, endless, SendOptions::default());
    tokio::pin!(sending);
    let full = tokio::time::timeout(Duration::from_millis(500), &mut sending);
    assert!(full.await.is_err(), "sending never waited");
    let counted = std::future::poll_fn(|cx| {
        polls += 1;
        std::future::Future::poll(sending.as_mut(), cx)
    });
    let waited = tokio::time::timeout(Duration::from_millis(300), counted).await;
    assert!(waited.is_err());
    assert!(polls < 50, "woken {polls} times, and the peer read nothing");
}

#[tokio::test]
async fn dropping_an_association_still_delivers_what_was_sent() {
    let (a, b, client, server) = pair(&[1], &[2]).await;
    for i in 0..100 {
        a.send(0, pattern(5000, i)).await.unwrap();
    }
    drop(a);
    let mut count = 0;
    while let Some(message) = b.recv().await.unwrap() {
        assert_eq!(message.data, pattern(5000, count));
        count += 1;
    }
    assert_eq!(count, 100);
    drop(b);
    client.wait_idle().await;
    server.wait_idle().await;
    assert_eq!((client.associations(), server.associations()), (0, 0));
}

#[tokio::test]
async fn an_abort_is_told_to_both_sides() {
    let (a, b, ..) = pair(&[1], &[2]).await;
    let mut events = b.events();
    a.abort("enough");
    assert_eq!(a.closed().await, CloseReason::LocalAbort);
    assert!(matches!(b.closed().await, CloseReason::PeerAbort { .. }));
    let error = b.recv().await.unwrap_err();
    let reason = Bytes::from_static(b"enough");
    assert_eq!(error, Closed::PeerAbort { cause: Some(12), reason });
    assert_eq!(error.to_string(), "the peer aborted the association (error cause 12): \"enough\"");
    assert_eq!((b.abort_reason().as_ref(), a.abort_reason().as_ref()), (&b"enough"[..], &b""[..]));
    assert!(matches!(b.send(0, "x").await, Err(SendError::Closed(_))));
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    assert!(matches!(last, Some(polypath_net::Event::Closed(_))), "{last:?}");
}

#[tokio::test]
async fn paths_can_be_set_up_and_asked_while_they_live() {
    let (a, _b, ..) = pair(&[1, 2], &[3, 4]).await;
    let second = a.paths()[1].stats.path;
    let mut settings = a.path_settings(second).unwrap();
    settings.heartbeat_interval = None;
    assert!(a.set_path_settings(second, settings));
    assert_eq!(a.path_settings(second), Some(settings));
    let acked = |a: &Association| a.paths()[1].stats.heartbeats_acked;
    let before = acked(&a);
    assert!(a.request_heartbeat(second));
    while acked(&a) == before {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(a.set_primary(second) && a.paths()[1].primary);
}

#[tokio::test]
async fn nobody_there_is_said_at_once() {
    let client = client(&[1]);
    let free = std::net::UdpSocket::bind("127.0.0.9:0").unwrap().local_addr().unwrap();
    let error = client.connect(&[free], PORT).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn an_endpoint_that_does_not_accept_refuses() {
    let (quiet, client) = (client(&[2]), client(&[1]));
    let error = client.connect(quiet.local_addresses().as_slice(), quiet.port()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Rejected { .. }), "{error}");
}

#[tokio::test]
async fn an_sctp_port_that_nobody_has_is_refused() {
    let (server, client) = (server(&[2]), client(&[1]));
    let error = client.connect(server.local_addresses().as_slice(), PORT + 1).await.unwrap_err();
    assert!(matches!(error, ConnectError::Rejected { cause: None, .. }), "{error}");
}

#[tokio::test]
async fn a_cancelled_connect_leaves_nothing_behind() {
    let client = client(&[1]);
    // Bound and never read: no answer, no ICMP.
    let deaf = std::net::UdpSocket::bind("127.0.0.8:0").unwrap();
    let at = [deaf.local_addr().unwrap()];
    let tried = tokio::time::timeout(Duration::from_millis(100), client.connect(&at, PORT));
    assert!(tried.await.is_err());
    client.wait_idle().await;
    assert_eq!(client.associations(), 0);
}

#[tokio::test]
async fn a_dead_first_path_does_not_stop_the_association() {
    let (server, client) = (server(&[4]), client(&[1, 2]));
    let deaf = std::net::UdpSocket::bind("127.0.0.3:0").unwrap();
    let remote: Vec<SocketAddr> = vec![deaf.local_addr().unwrap(), server.local_addresses()[0]];
    let a = client.connect(&remote, PORT).await.unwrap();
    let b = server.accept().await.unwrap();
    a.send(0, "there").await.unwrap();
    assert_eq!(&b.recv().await.unwrap().unwrap().data[..], b"there");
}

#[tokio::test]
async fn many_associations_share_an_endpoint() {
    let server = server(&[2]);
    let clients: Vec<_> = (0..50).map(|_| client(&[1])).collect();
    let mut ours = Vec::new();
    for client in &clients {
        let a = client.connect(server.local_addresses().as_slice(), PORT).await.unwrap();
        a.send(0, client.port().to_string()).await.unwrap();
        ours.push(a);
    }
    for _ in &clients {
        let b = server.accept().await.unwrap();
        let message = b.recv().await.unwrap().unwrap();
        let text = String::from_utf8(message.data.to_vec()).unwrap();
        assert!(clients.iter().any(|c| c.port().to_string() == text));
    }
    drop(ours);
    server.wait_idle().await;
}

#[tokio::test]
async fn closing_an_endpoint_ends_accept() {
    let server = server(&[2]);
    let (accepted, ()) = tokio::join!(server.accept(), server.close());
    assert!(accepted.is_none());
}

#[test]
fn what_cannot_be_bound_is_named() {
    let taken = server(&[7]);
    let port = taken.local_addresses()[0].port();
    let config = |addresses: &[&str], port| {
        let addresses = addresses.iter().map(|a| a.parse().unwrap());
        let config = Config::insecure_server(addresses, PORT);
        config.encapsulation(Encapsulation::Udp(port))
    };
    let error = |config| Endpoint::bind(config).unwrap_err().to_string();
    let in_use = format!(
        "UDP port {port} at 127.0.0.7 is in use: stop the other program or choose another port"
    );
    assert_eq!(error(config(&["127.0.0.7"], port)), in_use);
    let foreign = "local address 192.0.2.77 is not an address of this host";
    assert_eq!(error(config(&["192.0.2.77"], 0)), foreign);
    assert!(error(config(&["0.0.0.0"], 0)).contains("unicast"));
    assert!(error(config(&["127.0.0.1", "127.0.0.1"], 0)).contains("twice"));
    assert!(error(config(&[], 0)).contains("at least one"));
    let mut device = config(&["127.0.0.1"], 0);
    device.local[0].device = Some("nosuch0".to_owned());
    let text = error(device);
    assert!(text.contains("nosuch0") || text.contains("permission"), "{text}");
}

#[tokio::test]
async fn a_message_larger_than_all_buffers_passes_in_parts_beside_small_ones() {
    const PART: usize = 50_000;
    const PARTS: usize = 60;
    for interleaving in [false, true] {
        let config = |mut config: Config| {
            let assoc = std::sync::Arc::make_mut(&mut config.assoc);
            assoc.extensions = ExtensionConfig { interleaving, ..ExtensionConfig::NONE };
            (assoc.receive_buffer, assoc.send_buffer) = (256 << 10, 256 << 10);
            assoc.partial_delivery = Some(64 << 10);
            config.encapsulation(Encapsulation::Udp(0))
        };
        let server = Endpoint::bind(config(Config::insecure_server([ip(2)], PORT))).unwrap();
        let client = Endpoint::bind(config(Config::insecure_client([ip(1)]))).unwrap();
        let there = server.local_addresses();
        let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!((a.is_interleaving(), b.is_interleaving()), (interleaving, interleaving));
        let sending = async {
            for i in 0..PARTS {
                let part = pattern(PART, i);
                a.send_part(0, part, SendOptions::default(), i + 1 == PARTS).await.unwrap();
                a.send(1, "small").await.unwrap();
            }
            a.shutdown().await.unwrap();
        };
        let receiving = async {
            let (mut large, mut parts, mut small) = (Vec::new(), 0, 0);
            while let Some(message) = b.recv().await.unwrap() {
                match message.stream.0 {
                    0 => {
                        assert_eq!(message.part.first, large.is_empty());
                        large.extend_from_slice(&message.data);
                        parts += 1;
                        assert_eq!(message.part.last, large.len() == PART * PARTS);
                    }
                    _ => small += usize::from(message.part.is_whole()),
                }
            }
            let sent: Vec<u8> = (0..PARTS).flat_map(|i| pattern(PART, i)).collect();
            assert!(large == sent, "{} bytes", large.len());
            assert!(parts > 1 && small == PARTS, "{parts} parts, {small} small messages");
        };
        tokio::join!(sending, receiving);
    }
}
