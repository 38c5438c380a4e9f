//! Encrypted associations of one process over the loopback device, in front of those who listen,
//! lie, or are somebody else; and one whose peer's process is killed.

mod captures;
mod killed;
mod liars;
mod relay;
mod strangers;

use std::net::IpAddr;
use std::time::Duration;

use polypath_net::{
    Association, Bytes, Config, Encapsulation, Endpoint, Fingerprint, Identity, Tls, Trust,
};

const PORT: u16 = 5000;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

fn identity() -> Identity {
    Identity::generate().unwrap()
}

fn print(identity: &Identity) -> Fingerprint {
    identity.public().fingerprint()
}

/// As `own`, with one peer that is let in.
fn pinned(own: &Identity, peer: &Identity) -> Tls {
    Tls::new(own, Trust::pinned([print(peer)]))
}

fn server_config(addresses: &[u8], keys: Tls) -> Config {
    Config::server(addresses.iter().map(|a| ip(*a)), PORT, keys)
        .encapsulation(Encapsulation::Udp(0))
}

fn client_config(addresses: &[u8], keys: Tls) -> Config {
    Config::client(addresses.iter().map(|a| ip(*a)), keys)
}

/// Both ends of an association, which must come soon.
async fn pair(client: &Endpoint, server: &Endpoint) -> (Association, Association) {
    let there = server.local_addresses();
    let both = async { tokio::join!(client.connect(&there, PORT), server.accept()) };
    let (a, b) = soon(both).await;
    (a.unwrap(), b.unwrap())
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("in time")
}

/// What is sent, so that it is found again wherever it can be read.
fn pattern(len: usize) -> Bytes {
    b"who can read this ".iter().copied().cycle().take(len).collect()
}

/// `count` messages from the one to the other and back.
async fn echo(a: &Association, b: &Association, count: usize) {
    let sending = async {
        for _ in 0..count {
            a.send(0, pattern(10_000)).await.unwrap();
        }
    };
    let answering = async {
        for _ in 0..count {
            let message = b.recv().await.unwrap().unwrap();
            b.send(1, message.data).await.unwrap();
        }
    };
    let reading = async {
        for _ in 0..count {
            assert_eq!(a.recv().await.unwrap().unwrap().data, pattern(10_000));
        }
    };
    soon(async { tokio::join!(sending, answering, reading) }).await;
}

#[tokio::test]
async fn two_ends_that_know_each_other_use_all_paths() {
    let (ours, theirs) = (identity(), identity());
    let server = Endpoint::bind(server_config(&[3, 4], pinned(&theirs, &ours))).unwrap();
    let client = Endpoint::bind(client_config(&[1, 2], pinned(&ours, &theirs))).unwrap();
    let (a, b) = pair(&client, &server).await;
    assert!(a.is_protected() && b.is_protected());
    assert_eq!(a.peer_identity().as_ref(), Some(theirs.public()));
    assert_eq!(b.peer_identity().as_ref(), Some(ours.public()));
    echo(&a, &b, 200).await;
    assert_eq!(a.paths().len(), 2);
    let (of_a, dropped) = a.protection_stats().unwrap();
    assert!(of_a.sealed > 1000 && of_a.opened > 1000, "{of_a:?}");
    assert_eq!((of_a.forged, of_a.replayed, of_a.unopenable, dropped), (0, 0, 0, 0));
    let (done, end) = soon(async { tokio::join!(a.shutdown(), b.recv()) }).await;
    done.unwrap();
    assert!(end.unwrap().is_none());
    assert_eq!(server.refusals(), 0);
}

/// Settings of one association take nothing of the endpoint's protection.
#[tokio::test]
async fn an_association_with_settings_of_its_own_is_protected_all_the_same() {
    let (ours, theirs) = (identity(), identity());
    let server = server_config(&[2], pinned(&theirs, &ours));
    let server = Endpoint::bind(server.assoc(polypath_net::AssocConfig::default())).unwrap();
    let client = Endpoint::bind(client_config(&[1], pinned(&ours, &theirs))).unwrap();
    let there = server.local_addresses();
    let own = std::sync::Arc::new(polypath_net::AssocConfig::default());
    let connecting = client.connect_with(&there, PORT, polypath_net::Pairing::Auto, own);
    let (a, b) = soon(async { tokio::join!(connecting, server.accept()) }).await;
    let (a, b) = (a.unwrap(), b.unwrap());
    assert!(a.is_protected() && b.is_protected());
    echo(&a, &b, 1).await;
}

/// What only one endpoint does not need: certificates, files, a clock. Ten at once are not mixed
/// up.
#[tokio::test]
async fn many_clients_are_told_apart_by_their_keys() {
    let theirs = identity();
    let server = Endpoint::bind(server_config(&[2], Tls::new(&theirs, Trust::anyone()))).unwrap();
    let mut held = Vec::new();
    for _ in 0..10 {
        let ours = identity();
        let client = Endpoint::bind(client_config(&[1], pinned(&ours, &theirs))).unwrap();
        let (a, b) = pair(&client, &server).await;
        assert_eq!(b.peer_identity().as_ref(), Some(ours.public()));
        held.push((client, a, b));
    }
    let prints: std::collections::BTreeSet<_> =
        held.iter().map(|(_, _, b)| b.peer_identity().unwrap().fingerprint()).collect();
    assert_eq!(prints.len(), 10);
}
