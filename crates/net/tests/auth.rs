//! Shared keys and preferred addresses, changed while the association lives, over real sockets.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use polypath_net::{
    AddressChange, AddressError, AssocConfig, Association, AuthConfig, AuthKey, AuthKeyError,
    Bytes, Config, Encapsulation, Endpoint, Event, ExtensionConfig,
};

const PORT: u16 = 5000;
const FIRST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SECOND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// DATA: its chunk type.
const DATA: u8 = 0;

/// Both want DATA authenticated, and have the key 1.
async fn pair(extensions: ExtensionConfig) -> (Association, Association) {
    let auth = AuthConfig {
        keys: vec![AuthKey { id: 1, secret: b"first".to_vec() }],
        active: 1,
        chunks: vec![DATA],
        ..AuthConfig::default()
    };
    let prepared = |mut config: Config| {
        config.assoc =
            AssocConfig { extensions, auth: auth.clone(), ..(*config.assoc).clone() }.into();
        config
    };
    let server = Config::insecure_server([FIRST], PORT).encapsulation(Encapsulation::Udp(0));
    let server = Endpoint::bind(prepared(server)).unwrap();
    let client = Endpoint::bind(prepared(Config::insecure_client([FIRST, SECOND]))).unwrap();
    let there = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
    (a.unwrap(), b.unwrap())
}

async fn received(association: &Association) -> Option<Bytes> {
    let message = tokio::time::timeout(Duration::from_secs(1), association.recv()).await;
    message.ok().map(|message| message.unwrap().unwrap().data)
}

#[tokio::test]
async fn keys_change_at_run_time() {
    let (a, b) = pair(ExtensionConfig::ALL).await;
    a.send(0, "with the first").await.unwrap();
    assert_eq!(received(&b).await.unwrap(), "with the first");
    for end in [&a, &b] {
        end.set_auth_key(2, b"second").unwrap();
    }
    a.activate_auth_key(2).unwrap();
    assert!(matches!(a.delete_auth_key(2), Err(AuthKeyError::Refused(_))), "it is in use");
    a.send(0, "with the second").await.unwrap();
    assert_eq!(received(&b).await.unwrap(), "with the second");
    a.deactivate_auth_key(1).unwrap();
    a.delete_auth_key(1).unwrap();
    assert!(a.activate_auth_key(1).is_err());
    // What the other end does not know goes unheard until it does.
    a.set_auth_key(3, b"third").unwrap();
    a.activate_auth_key(3).unwrap();
    a.send(0, "with the third").await.unwrap();
    assert_eq!(received(&b).await, None);
    b.set_auth_key(3, b"third").unwrap();
    let late = tokio::time::timeout(Duration::from_secs(20), b.recv()).await.unwrap();
    assert_eq!(late.unwrap().unwrap().data, "with the third");
    a.abort("");
    a.closed().await;
    b.closed().await;
}

#[tokio::test]
async fn the_peer_is_asked_to_prefer_an_address() {
    let (a, b) = pair(ExtensionConfig::ALL).await;
    assert!(a.has_dynamic_addresses() && b.peer_addresses().contains(&SECOND));
    let mut events = a.events();
    a.set_peer_primary(SECOND).unwrap();
    let answer = async {
        loop {
            if let Some(Event::LocalAddress { address, change }) = events.next().await {
                return (address, change);
            }
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(10), answer).await.unwrap();
    assert_eq!(answer, (SECOND, AddressChange::Primary));
    let foreign = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
    assert!(matches!(a.set_peer_primary(foreign), Err(AddressError::Refused(_))));
    a.shutdown().await.unwrap();
    assert!(a.set_peer_primary(SECOND).is_err());
}

#[tokio::test]
async fn without_the_extensions_there_are_no_keys() {
    let (a, _b) = pair(ExtensionConfig::NONE).await;
    assert!(matches!(a.set_auth_key(2, b"second"), Err(AuthKeyError::Refused(_))));
    assert!(!a.has_dynamic_addresses());
    assert!(matches!(a.set_peer_primary(FIRST), Err(AddressError::Refused(_))));
}
