//! Servers that lie to a doctor, flood it, or say nothing: it ends in time, and sends to nobody but
//! them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use polypath_apps::doctor::{PathReport, Setup, State, examine};
use polypath_apps::forward::frame::{Frame, VERSION, ppid};
use polypath_apps::mirror::words::{Door, Words};
use polypath_net::{Association, Config, Encapsulation, Endpoint, SendOptions};
use tokio::net::UdpSocket;

const PORT: u16 = 5000;
/// More than a doctor takes in all.
const PATIENCE: Duration = Duration::from_secs(60);

/// Addresses that no other test has.
fn addresses() -> [IpAddr; 2] {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let net = NEXT.fetch_add(1, Ordering::Relaxed);
    [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(127, 23, net, host)))
}

/// What a doctor says of a server that does `play` with each association.
async fn look<P: Future<Output = ()> + Send + 'static>(
    play: impl Fn(Arc<Association>, IpAddr) -> P,
) -> PathReport {
    let [ours, theirs] = addresses();
    let config = Config::insecure_server([theirs], PORT).encapsulation(Encapsulation::Udp(0));
    let endpoint = Endpoint::bind(config).unwrap();
    let remote = endpoint.local_addresses()[0];
    let config = Config::insecure_client([]);
    let setup = Setup {
        assoc: Arc::new(Setup::stack(&config.assoc)),
        config,
        port: PORT,
        patience: Duration::from_secs(5),
        named: vec![theirs],
        longest: None,
        explain: Box::new(|_| None),
        tell: Box::new(|_| ()),
    };
    let local = ours.into();
    let looking = tokio::time::timeout(PATIENCE, examine(&local, remote, &setup));
    tokio::pin!(looking);
    loop {
        tokio::select! {
            found = &mut looking => return found.expect("it ends"),
            Some(association) = endpoint.accept() => {
                tokio::spawn(play(Arc::new(association), theirs));
            }
        }
    }
}

async fn say(association: &Association, frame: &Frame) {
    send(association, frame.to_bytes()).await;
}

async fn send(association: &Association, bytes: Bytes) {
    let options = SendOptions { ppid: ppid::FRAME, ..SendOptions::default() };
    let _gone = association.send_with(0, bytes, options).await;
}

async fn greet(association: &Association) {
    let hello = Frame::Hello { version: VERSION, instance: [1; 16], connections: 10 };
    say(association, &hello).await;
}

/// Claims to have a mirror there.
async fn claim(association: &Association, doors: Vec<Door>) {
    let seen = "192.0.2.1:1".parse().unwrap();
    say(association, &Frame::Mirror(Words::Here { token: [7; 16], seen, doors })).await;
}

async fn stay(association: &Association) {
    association.closed().await;
}

/// The path carries, and of NAT nothing is known.
fn assert_unmirrored(found: &PathReport) {
    assert_eq!(found.state, State::Carries, "{found:?}");
    assert!(found.no_mirror.is_some() && found.ecn.is_none(), "{found:?}");
    assert!(found.mtu.is_some(), "{found:?}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_told() {
    let found = look(|association, _| async move { stay(&association).await }).await;
    assert_unmirrored(&found);
    assert!(found.nat.is_none());
}

#[tokio::test]
async fn a_server_that_says_hello_and_no_more_is_told() {
    let found = look(|association, _| async move {
        greet(&association).await;
        stay(&association).await;
    });
    assert_unmirrored(&found.await);
}

#[tokio::test]
async fn a_server_that_goes_is_told() {
    let found = look(|association, _| async move {
        greet(&association).await;
        let _ = association.recv().await;
        association.abort("\u{1b}[2J");
    })
    .await;
    assert!(found.no_mirror.is_some(), "{found:?}");
}

#[tokio::test]
async fn a_server_that_talks_nonsense_is_told() {
    for nonsense in [&b""[..], &[6], &[6, 2, 0], &[0xff; 100], &[6, 9], &[0; 2000]] {
        let found = look(move |association, _| async move {
            send(&association, Bytes::from_static(nonsense)).await;
            stay(&association).await;
        })
        .await;
        assert!(found.no_mirror.is_some(), "{nonsense:?}: {found:?}");
    }
}

#[tokio::test]
async fn a_flood_of_frames_ends_with_the_doctor() {
    let found = look(|association, _| async move {
        greet(&association).await;
        while !association.is_closed() {
            let options = SendOptions { ppid: ppid::FRAME, ..SendOptions::default() };
            let frame = Frame::Listening { id: 1, port: 1 };
            if association.send_with(0, frame.to_bytes(), options).await.is_err() {
                return;
            }
        }
    })
    .await;
    assert!(found.no_mirror.is_some(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_answers_that_are_none_ends_with_the_doctor() {
    let found = look(|association, theirs| async move {
        let socket = UdpSocket::bind((theirs, 0)).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        greet(&association).await;
        claim(&association, vec![Door { address: None, port }]).await;
        let Ok((_, from)) = socket.recv_from(&mut [0; 100]).await else { return };
        while !association.is_closed() {
            for kind in [&b"PPmA"[..], b"PPmS", b"PPmP"] {
                let packet = [kind, &[0; 60]].concat();
                for len in [21, 48, 64] {
                    let _full = socket.try_send_to(&packet[..len], from);
                }
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_unmirrored(&found);
}

/// A server must not make doctors send to others than itself.
#[tokio::test]
async fn nothing_is_sent_to_strangers() {
    let stranger = UdpSocket::bind(SocketAddr::new(addresses()[0], 0)).await.unwrap();
    let at = stranger.local_addr().unwrap();
    let found = look(move |association, _| async move {
        greet(&association).await;
        let door = Door { address: Some(at.ip()), port: at.port() };
        claim(&association, vec![door; 3]).await;
        stay(&association).await;
    })
    .await;
    assert_unmirrored(&found);
    let silence = tokio::time::timeout(Duration::ZERO, stranger.recv_from(&mut [0; 100])).await;
    assert!(silence.is_err(), "a probe came");
}
