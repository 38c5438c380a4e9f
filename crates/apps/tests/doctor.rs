//! Servers that lie to a doctor, flood it, or say nothing: it ends in time, and sends to nobody but
//! them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use polypath_apps::doctor::{Dependence, PathReport, Setup, State, examine};
use polypath_apps::forward::frame::{Frame, VERSION, ppid};
use polypath_apps::mirror::words::{MirrorSocket, Words};
use polypath_net::{Association, CloseReason, Config, Encapsulation, Endpoint, SendOptions};
use tokio::net::UdpSocket;
use tokio::sync::watch;

const PORT: u16 = 5000;
/// More than a doctor takes in all.
const PATIENCE: Duration = Duration::from_secs(60);

/// Addresses that no other test has.
fn addresses() -> [IpAddr; 3] {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let net = NEXT.fetch_add(1, Ordering::Relaxed);
    [1, 2, 3].map(|host| IpAddr::V4(Ipv4Addr::new(127, 23, net, host)))
}

fn setup(named: &[IpAddr], stop: watch::Receiver<bool>) -> Setup {
    let config = Config::insecure_client([]);
    Setup {
        assoc: Arc::new(Setup::stack(&config.assoc)),
        config,
        port: PORT,
        patience: Duration::from_secs(5),
        named: named.to_vec(),
        longest: None,
        explain: Box::new(|_| None),
        silence: "; or it is tired",
        stop,
        tell: Box::new(|_| ()),
    }
}

/// What a doctor says of a server that does `play` with each association, at the first of two
/// addresses by which it is called.
async fn look<P: Future<Output = ()> + Send + 'static>(
    play: impl Fn(Arc<Association>, [IpAddr; 2]) -> P,
) -> PathReport {
    let [ours, theirs @ ..] = addresses();
    let config = Config::insecure_server([theirs[0]], PORT).encapsulation(Encapsulation::Udp(0));
    let endpoint = Endpoint::bind(config).unwrap();
    let remote = endpoint.local_addresses()[0];
    let setup = setup(&theirs, watch::channel(false).1);
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
async fn claim(association: &Association, sockets: Vec<MirrorSocket>) {
    let seen = "192.0.2.1:1".parse().unwrap();
    say(association, &Frame::Mirror(Words::Here { token: [7; 16], seen, sockets })).await;
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

/// What it says before there is an association is shown, and may do nothing to a terminal.
#[tokio::test]
async fn a_server_that_refuses_is_quoted_without_its_control_characters() {
    let [ours, theirs, _] = addresses();
    let socket = UdpSocket::bind((theirs, 0)).await.unwrap();
    let remote = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut init = [0; 2000];
        while let Ok((_, from)) = socket.recv_from(&mut init).await {
            let _full = socket.send_to(&abort(&init, "\u{1b}[2J go away"), from).await;
        }
    });
    let setup = setup(&[theirs], watch::channel(false).1);
    let found = examine(&ours.into(), remote, &setup).await;
    let why = found.why.unwrap();
    assert_eq!(found.state, State::NotServed, "{why}");
    assert!(why.contains("go away") && !why.chars().any(char::is_control), "{why:?}");
}

/// The answer to an INIT that ends it, with the cause User-Initiated Abort (RFC 9260 section
/// 3.3.10.12).
fn abort(init: &[u8], words: &str) -> Vec<u8> {
    let cause_len = u16::try_from(4 + words.len()).unwrap();
    let mut packet = [&init[2..4], &init[..2], &init[16..20], &[0; 4]].concat();
    packet.extend([6, 0]);
    packet.extend((4 + cause_len).to_be_bytes());
    packet.extend([0, 12]);
    packet.extend(cause_len.to_be_bytes());
    packet.extend(words.as_bytes());
    packet.resize(packet.len().next_multiple_of(4), 0);
    let checksum = crc32c(&packet).to_le_bytes();
    packet[8..12].copy_from_slice(&checksum);
    packet
}

/// RFC 9260 appendix A.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[tokio::test]
async fn who_wants_no_more_has_the_server_told_goodbye() {
    let [ours, theirs, _] = addresses();
    let config = Config::insecure_server([theirs], PORT).encapsulation(Encapsulation::Udp(0));
    let endpoint = Endpoint::bind(config).unwrap();
    let remote = endpoint.local_addresses()[0];
    let (stop, stopped) = watch::channel(false);
    let setup = setup(&[theirs], stopped);
    let local = ours.into();
    let looking = examine(&local, remote, &setup);
    let serving = async {
        let association = endpoint.accept().await.unwrap();
        greet(&association).await;
        let _hello = association.recv().await;
        stop.send_replace(true);
        association.closed().await
    };
    let (_, end) = tokio::time::timeout(PATIENCE, async { tokio::join!(looking, serving) })
        .await
        .expect("both end");
    assert_eq!(end, CloseReason::Shutdown);
}

#[tokio::test]
async fn a_server_that_is_silent_is_told_with_what_else_it_may_be() {
    let [ours, theirs, _] = addresses();
    let socket = UdpSocket::bind((theirs, 0)).await.unwrap();
    let mut setup = setup(&[theirs], watch::channel(false).1);
    setup.patience = Duration::from_millis(200);
    let found = examine(&ours.into(), socket.local_addr().unwrap(), &setup).await;
    assert_eq!((found.state, found.nat), (State::NoAnswer, None));
    assert!(found.why.unwrap().ends_with("; or it is tired"));
}

#[tokio::test]
async fn an_address_of_another_host_is_not_ours() {
    let [_, theirs, _] = addresses();
    let setup = setup(&[theirs], watch::channel(false).1);
    let local = IpAddr::from([192, 0, 2, 1]).into();
    let found = examine(&local, SocketAddr::new(theirs, 9), &setup).await;
    assert_eq!(found.state, State::NotOurs, "{found:?}");
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
    let found = look(|association, [theirs, _]| async move {
        let socket = UdpSocket::bind((theirs, 0)).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        greet(&association).await;
        claim(&association, vec![MirrorSocket { address: None, port }]).await;
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

/// A mirror with three sockets. It answers all probes, and sends a packet where `sends` says so: by
/// the number of our socket, in the order in which they came, and by that of its own.
async fn reflect(
    association: Arc<Association>,
    theirs: [IpAddr; 2],
    sends: fn(usize, usize) -> bool,
) {
    let [here, other] = theirs;
    let mut sockets = Vec::new();
    for ip in [here, here, other] {
        sockets.push(Arc::new(UdpSocket::bind((ip, 0)).await.unwrap()));
    }
    let at: Vec<_> = sockets.iter().map(|socket| socket.local_addr().unwrap()).collect();
    let named = |at: &SocketAddr| {
        let address = (at.ip() != here).then_some(at.ip());
        MirrorSocket { address, port: at.port() }
    };
    greet(&association).await;
    claim(&association, at.iter().map(named).collect()).await;
    let known = Arc::new(Mutex::new(Vec::new()));
    for socket in &sockets {
        tokio::spawn(answer_probes(socket.clone(), known.clone()));
    }
    while let Ok(Some(message)) = association.recv().await {
        let Ok(Frame::Mirror(Words::Send { socket, cookie })) = Frame::from_bytes(&message.data)
        else {
            continue;
        };
        let number = usize::from(cookie[0]);
        let to = known.lock().unwrap()[number];
        if sends(number, socket.into()) {
            let packet = [&b"PPmS"[..], &cookie, &[socket]].concat();
            sockets[usize::from(socket)].send_to(&packet, to).await.unwrap();
        }
    }
}

/// The cookie of an address is its number among the `known` ones.
async fn answer_probes(socket: Arc<UdpSocket>, known: Arc<Mutex<Vec<SocketAddr>>>) {
    let mut probe = [0; 64];
    while let Ok((64, from)) = socket.recv_from(&mut probe).await {
        let number = {
            let mut known = known.lock().unwrap();
            let found = known.iter().position(|at| *at == from);
            found.unwrap_or_else(|| {
                known.push(from);
                known.len() - 1
            })
        };
        let SocketAddr::V4(at) = from else { return };
        let mut answer = [&b"PPmA"[..], &probe[20..28], &[number as u8; 16], &[0, 4]].concat();
        answer.extend(at.ip().octets());
        answer.extend([0; 12]);
        answer.extend(at.port().to_be_bytes());
        let _full = socket.send_to(&answer, from).await;
    }
}

/// Both of our sockets wait for packets from the mirror's second and third: each packet counts,
/// whichever of them it comes to.
#[tokio::test]
async fn a_packet_that_is_lost_does_not_make_a_filter() {
    for sends in [|ours, theirs| (ours == 1) == (theirs == 1), |ours, _| ours == 2] {
        let found = look(move |association, theirs| reflect(association, theirs, sends)).await;
        let nat = found.nat.unwrap();
        assert_eq!(nat.mapping, Some(Dependence::EndpointIndependent), "{nat:?}");
        assert_eq!(nat.filtering, Some(Dependence::EndpointIndependent), "{nat:?}");
        assert!(nat.second_address && nat.other_address.is_none());
    }
}

#[tokio::test]
async fn packets_that_do_not_come_make_a_filter() {
    for (sends, filtering) in [
        ((|_, _| false) as fn(usize, usize) -> bool, Dependence::AddressAndPortDependent),
        (|_, theirs| theirs == 1, Dependence::AddressDependent),
    ] {
        let found = look(move |association, theirs| reflect(association, theirs, sends)).await;
        assert_eq!(found.nat.unwrap().filtering, Some(filtering));
    }
}

/// Probes that come from another address than the association get no answer, and the server says
/// so: that tells the kind of mapping, and nothing of filters and ECN.
#[tokio::test]
async fn a_translator_with_several_addresses_is_told() {
    for (ports, mapping) in [
        ([7, 7, 7], Dependence::EndpointIndependent),
        ([7, 8, 9], Dependence::AddressAndPortDependent),
    ] {
        let found = look(move |association, [theirs, other]| async move {
            let socket = UdpSocket::bind((theirs, 0)).await.unwrap();
            let port = socket.local_addr().unwrap().port();
            let at = |address| MirrorSocket { address, port };
            greet(&association).await;
            claim(&association, vec![at(None), at(None), at(Some(other))]).await;
            let mut probe = [0; 64];
            while let Ok((64, _)) = socket.recv_from(&mut probe).await {
                let nonce = probe[20..28].try_into().unwrap();
                for (socket, port) in (0..).zip(ports) {
                    let source = SocketAddr::from(([192, 0, 2, 77], port));
                    let words = Words::Elsewhere { socket, nonce, source };
                    say(&association, &Frame::Mirror(words)).await;
                }
            }
        });
        let found = found.await;
        let nat = found.nat.unwrap();
        assert_eq!((nat.mapping, nat.filtering), (Some(mapping), None), "{nat:?}");
        assert_eq!(nat.other_address, Some([192, 0, 2, 77].into()));
        assert!(found.no_mirror.is_none() && found.ecn.is_none(), "{nat:?}");
    }
}

/// A server must not make doctors send to others than itself.
#[tokio::test]
async fn nothing_is_sent_to_strangers() {
    let stranger = UdpSocket::bind(SocketAddr::new(addresses()[0], 0)).await.unwrap();
    let at = stranger.local_addr().unwrap();
    let found = look(move |association, _| async move {
        greet(&association).await;
        let socket = MirrorSocket { address: Some(at.ip()), port: at.port() };
        claim(&association, vec![socket; 3]).await;
        stay(&association).await;
    })
    .await;
    assert_unmirrored(&found);
    let silence = tokio::time::timeout(Duration::ZERO, stranger.recv_from(&mut [0; 100])).await;
    assert!(silence.is_err(), "a probe came");
}
