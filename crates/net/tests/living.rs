//! What can be asked, and changed, while an association lives.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use polypath_net::{
    AssocBuilder, AssocSettings, Association, Config, Encapsulation, Endpoint, PathError,
    PathState, SettingsError,
};

const PORT: u16 = 5000;

fn ip(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, 11, last))
}

/// An association from one address to another, the endpoints with it.
async fn pair(
    settings: AssocBuilder,
    local: u8,
    remote: u8,
) -> ((Endpoint, Association), (Endpoint, Association)) {
    let settings = settings.build().unwrap();
    let server = Config::insecure_server([ip(remote)], PORT).encapsulation(Encapsulation::Udp(0));
    let server = Endpoint::bind(server.assoc(settings.clone())).unwrap();
    let client = Endpoint::bind(Config::insecure_client([ip(local)]).assoc(settings)).unwrap();
    let there = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
    ((client, a.unwrap()), (server, b.unwrap()))
}

#[tokio::test]
async fn both_ends_know_what_was_agreed_and_each_other_s_port() {
    let settings = AssocBuilder::default().interleaving().stream_reconfiguration();
    let ((client, a), (server, b)) = pair(settings, 1, 2).await;
    assert_eq!((a.peer_port(), b.peer_port()), (Some(PORT), Some(client.port())));
    assert_eq!((a.local_port(), b.local_port()), (client.port(), server.port()));
    assert_eq!(server.port(), PORT);
    let agreed = a.agreed();
    assert_eq!(agreed, b.agreed());
    assert!(agreed.interleaving && agreed.stream_reconfiguration && agreed.nr_sack);
    assert!(!agreed.authentication && !agreed.dynamic_addresses && !agreed.partial_reliability);
}

#[tokio::test]
async fn settings_change_for_one_association_or_not_at_all() {
    let ((_client, a), (_server, b)) = pair(AssocBuilder::default(), 3, 4).await;
    let before = a.settings().unwrap();
    let mut settings: AssocSettings = before;
    settings.rto.min = Duration::from_millis(400);
    settings.sack_every = 4;
    a.set_settings(settings).unwrap();
    assert_eq!(a.settings(), Some(settings));
    assert_eq!(b.settings(), Some(before));
    settings.rto.max = Duration::from_millis(300);
    let refused = a.set_settings(settings).unwrap_err();
    assert!(refused.to_string().contains("RTO.Min"), "{refused}");
    assert_eq!(a.settings().unwrap().rto.min, Duration::from_millis(400));
    a.send(0, "and it goes on").await.unwrap();
    assert_eq!(b.recv().await.unwrap().unwrap().data, "and it goes on");
    a.shutdown().await.unwrap();
    assert!(matches!(a.set_settings(before), Ok(()) | Err(SettingsError::Closed(_))));
}

#[tokio::test]
async fn a_path_is_added_and_another_removed_in_one_call_each() {
    let settings = AssocBuilder::default().dynamic_addresses();
    let ((client, a), (_server, b)) = pair(settings, 5, 6).await;
    let bound = Duration::from_secs(10);
    let added = tokio::time::timeout(bound, a.add_path(ip(7))).await.unwrap().unwrap();
    let paths = a.paths();
    let path = paths.iter().find(|path| path.stats.path == added).unwrap();
    assert_eq!((path.stats.local.ip(), path.stats.state), (ip(7), PathState::Active));
    let first = paths.iter().find(|path| path.stats.local.ip() == ip(5)).unwrap().stats.path;
    a.remove_path(first).unwrap();
    a.send(0, "over the new path").await.unwrap();
    let message = tokio::time::timeout(bound, b.recv()).await.unwrap().unwrap().unwrap();
    assert_eq!(message.data, "over the new path");
    assert_eq!(client.local_addresses()[0].ip(), ip(7));
    assert!(matches!(a.remove_path(first), Err(PathError::NoSuchPath(_))));
    assert!(matches!(a.remove_path(added), Err(PathError::LastAddress(_))));
    let other_family = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
    let refused = a.add_path(other_family).await;
    assert!(matches!(refused, Err(PathError::NoPeerAddress { .. })), "{refused:?}");
}

#[tokio::test]
async fn paths_stay_where_addresses_may_not_change() {
    let ((client, a), _server) = pair(AssocBuilder::default(), 8, 9).await;
    assert!(matches!(a.add_path(ip(10)).await, Err(PathError::Refused(_))));
    let path = a.paths()[0].stats.path;
    assert!(matches!(a.remove_path(path), Err(PathError::Refused(_))));
    assert_eq!((client.local_addresses().len(), a.paths().len()), (1, 1));
}

#[tokio::test]
async fn an_endpoint_may_stop_listening_and_begin_again() {
    let ((client, a), (server, b)) = pair(AssocBuilder::default(), 12, 13).await;
    server.set_accept(false);
    let there = server.local_addresses();
    client.connect(&there, PORT).await.unwrap_err();
    a.send(0, "goes on").await.unwrap();
    assert_eq!(b.recv().await.unwrap().unwrap().data, "goes on");
    server.set_accept(true);
    let again = Endpoint::bind(Config::insecure_client([ip(14)])).unwrap();
    again.connect(&there, PORT).await.unwrap();
}
