//! The same with keys by TLS 1.3.

use std::sync::Arc;

use polypath_proto::CloseReason;
use polypath_proto::config::AssocConfig;
use polypath_proto::protection::{KeyManagement, ProtectionFailure};
use polypath_proto::time::Duration;
use polypath_secure::{Identity, PreShared, RekeyPolicy, StandIn, Suite, Tls, Trust};
use polypath_testkit::pair::{Pair, Way};
use polypath_wire::chunk::kind;

use crate::common::*;

fn by(keys: impl KeyManagement + 'static) -> AssocConfig {
    AssocConfig { protection: Some(Arc::new(keys)), ..AssocConfig::default() }
}

fn identities() -> [Identity; 2] {
    [(); 2].map(|()| Identity::generate().unwrap())
}

#[test]
fn who_is_pinned_gets_in_and_each_knows_the_other() {
    let [client, server] = identities();
    let pinned = |peer: &Identity| Trust::pinned([peer.public().fingerprint()]);
    let policy = RekeyPolicy { packets: 20, ..RekeyPolicy::default() };
    let mut pair = Pair::connecting(
        by(Tls::new(&client, pinned(&server)).rekey(policy)),
        by(Tls::new(&server, pinned(&client)).rekey(policy)),
    );
    let (called, now) = (pair.now, pair.now);
    pair.client.send(now, b"first");
    pair.run_for(SECOND);
    assert_protected(&pair);
    assert_eq!(pair.client.association().peer_identity(), Some(server.public().spki()));
    assert_eq!(pair.server.association().peer_identity(), Some(client.public().spki()));
    let first = pair.log.iter().find(|p| p.way == Way::ToServer && p.first_kind() == kind::DTLS);
    let left = first.unwrap().at - Duration::from_millis(10);
    assert_eq!(left.since(called), Duration::from_millis(60), "three round trips");
    for _ in 0..100 {
        let now = pair.now;
        pair.client.send(now, b"more");
        pair.run_for(Duration::from_millis(100));
    }
    let (stats, _) = pair.client.association().protection_stats().unwrap();
    assert!(stats.rekeys > 2 && stats.forged == 0, "{stats:?}");
    assert_carries(&mut pair);
    // Nothing that the application said is to be found in any packet.
    for word in [&b"first"[..], b"more", b"and back"] {
        assert!(!pair.log.iter().any(|p| p.data.windows(word.len()).any(|w| w == word)));
    }
}

#[test]
fn a_stranger_is_refused_and_both_ends_say_so() {
    let [client, server] = identities();
    let [other, _] = identities();
    let cases = [
        (Trust::anyone(), Trust::pinned([other.public().fingerprint()]), Way::ToClient),
        (Trust::pinned([other.public().fingerprint()]), Trust::anyone(), Way::ToServer),
    ];
    for (of_client, of_server, refused) in cases {
        let mut pair =
            Pair::connecting(by(Tls::new(&client, of_client)), by(Tls::new(&server, of_server)));
        let now = pair.now;
        pair.client.send(now, b"never");
        pair.run_for(SECOND);
        let (closed, key) = match refused {
            Way::ToClient => ([pair.server.closed(), pair.client.closed()], client.public()),
            Way::ToServer => ([pair.client.closed(), pair.server.closed()], server.public()),
        };
        let unknown = ProtectionFailure::UnknownPeer { key: key.spki().to_vec() };
        assert_eq!(closed[0], Some(CloseReason::Unprotected(Box::new(unknown))));
        let told = |reason: &CloseReason| match reason {
            CloseReason::Unprotected(failure) => {
                matches!(**failure, ProtectionFailure::Refused(_))
            }
            _ => false,
        };
        assert!(closed[1].as_ref().is_some_and(told), "{closed:?}");
        assert_eq!(pair.client.established() + pair.server.established(), 0);
        assert_eq!(pair.sent(Way::ToServer, kind::DTLS) + pair.sent(Way::ToClient, kind::DTLS), 0);
        no_plain_data(&pair);
    }
}

#[test]
fn shared_keys_and_real_ciphers_carry() {
    let shared = || by(PreShared::new([7; 32]));
    let mut pair = Pair::connecting(shared(), shared());
    pair.run_for(SECOND);
    assert_protected(&pair);
    assert_carries(&mut pair);
    let mut pair = Pair::connecting(shared(), by(PreShared::new([8; 32])));
    let now = pair.now;
    pair.client.send(now, b"never");
    pair.run_for(SECOND.saturating_mul(30));
    assert!(pair.server.received.is_empty());
    for suite in [Suite::Aes128Gcm, Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
        let config = by(StandIn::default().with_cipher(suite));
        let mut pair = connected(&config);
        assert_carries(&mut pair);
    }
}
