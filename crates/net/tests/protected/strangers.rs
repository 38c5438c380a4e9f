//! Ends that do not let each other in, and what each is told.

use std::sync::Arc;

use polypath_net::{
    Closed, Config, ConnectError, Encapsulation, Endpoint, KeyManagement, PreShared,
    ProtectionFailure, Refusal, Tls, Trust,
};

use super::{PORT, client_config, identity, ip, pinned, print, server_config, soon};

async fn error(client: Config, server: &Endpoint) -> ConnectError {
    let client = Endpoint::bind(client).unwrap();
    soon(client.connect(&server.local_addresses(), PORT)).await.unwrap_err()
}

/// Nobody is handed to `accept` who was refused.
async fn accepts_nobody(server: &Endpoint) {
    tokio::time::timeout(core::time::Duration::from_millis(200), server.accept())
        .await
        .expect_err("it was handed on");
    assert_eq!(server.associations(), 0, "nothing of it is left");
}

#[tokio::test]
async fn a_server_with_another_key_is_named() {
    let (ours, theirs, other) = (identity(), identity(), identity());
    let server = Endpoint::bind(server_config(&[2], pinned(&theirs, &ours))).unwrap();
    let error = error(client_config(&[1], pinned(&ours, &other)), &server).await;
    let unknown = ProtectionFailure::UnknownPeer { key: theirs.public().spki().to_vec() };
    match &error {
        ConnectError::Closed(Closed::Unprotected(failure)) => assert_eq!(**failure, unknown),
        _ => panic!("{error}"),
    }
    let expected = format!("the peer's key is not one that is allowed: {}", print(&theirs));
    assert_eq!(error.to_string(), expected);
    let refusal = soon(server.refused()).await.unwrap();
    assert_eq!(refusal.remote.ip(), ip(1));
    accepts_nobody(&server).await;
}

#[tokio::test]
async fn a_client_that_is_not_allowed_is_told_and_the_server_knows_who_it_was() {
    let (ours, theirs, other) = (identity(), identity(), identity());
    let server = Endpoint::bind(server_config(&[2], pinned(&theirs, &other))).unwrap();
    let error = error(client_config(&[1], pinned(&ours, &theirs)), &server).await.to_string();
    assert!(error.starts_with("the peer does not let this side's key in: "), "{error}");
    assert_eq!(error.lines().count(), 1);
    let refusal: Refusal = soon(server.refused()).await.unwrap();
    let line = refusal.to_string();
    let unknown = format!("the peer's key is not one that is allowed: {}", print(&ours));
    assert!(line.ends_with(&format!(" was not let in: {unknown}")), "{line}");
    assert_eq!((refusal.missed, server.refusals()), (0, 1));
    accepts_nobody(&server).await;
}

/// More of them than are remembered: the others are counted.
#[tokio::test]
async fn those_who_are_refused_fill_no_memory() {
    let (ours, theirs, other) = (identity(), identity(), identity());
    let server = Endpoint::bind(server_config(&[2], pinned(&theirs, &other))).unwrap();
    let client = Endpoint::bind(client_config(&[1], pinned(&ours, &theirs))).unwrap();
    for _ in 0..70 {
        soon(client.connect(&server.local_addresses(), PORT)).await.unwrap_err();
    }
    soon(async {
        while server.refusals() < 70 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(soon(server.refused()).await.unwrap().missed, 6);
    assert_eq!(server.associations(), 0);
}

#[tokio::test]
async fn an_insecure_client_learns_that_the_server_demands_encryption() {
    let server =
        Endpoint::bind(server_config(&[2], Tls::new(&identity(), Trust::anyone()))).unwrap();
    let error = error(Config::insecure_client([ip(1)]), &server).await;
    let at = server.local_addresses();
    let expected = format!(
        "the peer at {at:?} refused the association (it demands encryption, and this side is \
         insecure)"
    );
    assert_eq!(error.to_string(), expected);
    accepts_nobody(&server).await;
}

#[tokio::test]
async fn a_client_does_not_speak_with_an_insecure_server() {
    let config = Config::insecure_server([ip(2)], PORT).encapsulation(Encapsulation::Udp(0));
    let server = Endpoint::bind(config).unwrap();
    let error = error(client_config(&[1], Tls::new(&identity(), Trust::anyone())), &server).await;
    assert!(matches!(error, ConnectError::Closed(Closed::NoProtection)), "{error}");
    assert!(error.to_string().starts_with("the peer does not encrypt"), "{error}");
    accepts_nobody(&server).await;
}

#[tokio::test]
async fn ends_with_different_ways_to_agree_on_keys_say_so() {
    let server =
        Endpoint::bind(server_config(&[2], Tls::new(&identity(), Trust::anyone()))).unwrap();
    let shared: Arc<dyn KeyManagement> = Arc::new(PreShared::new([7; 32]));
    let error = error(Config::client([ip(1)], shared), &server).await.to_string();
    assert!(error.contains("a shared secret or TLS"), "{error}");
}

/// With one secret they speak, and with two neither lets the other in.
#[tokio::test]
async fn shared_keys_are_the_same_or_of_no_use() {
    let config =
        Config::server([ip(2)], PORT, PreShared::new([7; 32])).encapsulation(Encapsulation::Udp(0));
    let server = Endpoint::bind(config).unwrap();
    let client = Endpoint::bind(Config::client([ip(1)], PreShared::new([7; 32]))).unwrap();
    let (a, b) = super::pair(&client, &server).await;
    assert!(a.is_protected() && a.peer_identity().is_none());
    super::echo(&a, &b, 3).await;
}
