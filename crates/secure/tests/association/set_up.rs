//! Setting up: how long it takes, what the application hears, and who is refused.

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, EndpointConfig, ExtensionConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::protection::KEY_MANAGEMENT_PPID;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, SendError, SendOptions};
use polypath_testkit::pair::{
    CLIENT_PORT, Pair, Verdict, Way, client_addresses, endpoint, reverse_tuple,
};
use polypath_wire::chunk::kind;

use crate::common::*;

#[test]
fn the_first_protected_data_leaves_three_round_trips_after_the_call() {
    let mut pair = connecting(&protected());
    let (called, now) = (pair.now, pair.now);
    pair.client.send(now, b"as soon as it may");
    pair.run_for(SECOND);
    assert_protected(&pair);
    assert_eq!(pair.server.texts(), [b"as soon as it may"]);
    let first = pair.log.iter().find(|p| p.way == Way::ToServer && p.first_kind() == kind::DTLS);
    let left = first.unwrap().at - Duration::from_millis(10);
    assert_eq!(left.since(called), Duration::from_millis(60), "three round trips of 20 ms");
}

#[test]
fn the_application_hears_of_it_when_it_is_protected_and_then_in_order() {
    let mut pair = connected(&protected());
    // Who opens knows its paths before, as without protection.
    let of_server = &pair.server.events;
    assert!(matches!(of_server[0].1, Event::Established { .. }), "{of_server:?}");
    assert_carries(&mut pair);
    let (stats, dropped) = pair.server.association().protection_stats().unwrap();
    assert!(stats.opened > 0 && stats.sealed > 0 && stats.epoch == 3, "{stats:?}");
    assert_eq!((stats.forged, stats.replayed, stats.unopenable, dropped), (0, 0, 0, 0));
}

#[test]
fn every_extension_works_inside() {
    let extensions = ExtensionConfig::ALL;
    let mut config = AssocConfig { extensions, ..protected() };
    config.cmt.nr_sack = polypath_proto::config::NrSack::Received;
    let mut pair = connected(&config);
    let agreed = pair.client.association().agreed();
    assert!(agreed.dynamic_addresses && agreed.interleaving && !agreed.authentication);
    assert_carries(&mut pair);
    assert_eq!(pair.sent(Way::ToServer, kind::AUTH), 0);
}

#[test]
fn a_graceful_end_is_one() {
    let mut pair = connected(&protected());
    let now = pair.now;
    pair.client.send(now, b"the last");
    pair.client.shutdown(now);
    pair.run_for(SECOND);
    assert_eq!(pair.server.texts(), [b"the last"]);
    for end in [&pair.client, &pair.server] {
        assert_eq!(end.closed(), Some(CloseReason::Shutdown));
    }
    no_plain_data(&pair);
}

#[test]
fn a_shutdown_before_there_are_keys_waits_for_them() {
    let mut pair = connecting(&protected());
    let now = pair.now;
    pair.client.send(now, b"all there is");
    pair.client.shutdown(now);
    pair.run_for(SECOND.saturating_mul(2));
    assert_eq!(pair.server.texts(), [b"all there is"]);
    assert_eq!(pair.client.closed(), Some(CloseReason::Shutdown));
    no_plain_data(&pair);
}

#[test]
fn who_does_not_protect_is_refused_by_who_does() {
    let mut pair = Pair::connecting(protected(), AssocConfig::default());
    pair.run_for(SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::NoProtection));
    assert_eq!(pair.server.count(), 0);
    let mut pair = Pair::connecting(AssocConfig::default(), protected());
    pair.run_for(SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::PeerAbort { cause: Some(100) }));
    assert_eq!(pair.server.count(), 0);
}

#[test]
fn key_managements_identifier_is_not_the_applications() {
    let mut pair = connected(&protected());
    let now = pair.now;
    let options = SendOptions { ppid: KEY_MANAGEMENT_PPID, ..SendOptions::default() };
    let mut send = |stream| {
        let data = Bytes::from_static(b"x");
        pair.client.association_mut().send(now, StreamId(stream), data, options)
    };
    assert_eq!(send(0), Err(SendError::ReservedPpid { ppid: KEY_MANAGEMENT_PPID }));
    assert!(send(1).is_ok());
    pair.run_for(SECOND);
    assert_well(&mut pair);
}

#[test]
fn nor_is_it_in_a_message_that_is_handed_in_in_parts() {
    let mut pair = connected(&protected());
    let now = pair.now;
    let options = SendOptions { ppid: KEY_MANAGEMENT_PPID, ..SendOptions::default() };
    let mut send = |stream| {
        let data = Bytes::from_static(b"x");
        pair.client.association_mut().send_part(now, StreamId(stream), data, options, true)
    };
    assert_eq!(send(0), Err(SendError::ReservedPpid { ppid: KEY_MANAGEMENT_PPID }));
    assert!(send(1).is_ok());
    pair.run_for(SECOND);
    assert_well(&mut pair);
}

#[test]
fn after_a_stale_cookie_the_exchange_begins_anew() {
    let server =
        EndpointConfig { cookie_life: Duration::from_millis(100), ..as_server(&protected()) };
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    // The first COOKIE ECHO comes 50 ms too late.
    let mut late = Some(Verdict::Delay(Duration::from_millis(120)));
    pair.lose_packets(move |packet| {
        let verdict = (packet.first_kind() == kind::COOKIE_ECHO).then(|| late.take()).flatten();
        verdict.unwrap_or(Verdict::Deliver)
    });
    pair.connect_with(protected());
    pair.run_for(SECOND);
    assert_eq!(pair.sent(Way::ToServer, kind::INIT), 2);
    assert_protected(&pair);
    assert_well(&mut pair);
}

#[test]
fn a_packet_that_the_system_refused_is_sent_again_at_once() {
    let mut pair = connected(&protected());
    let (now, since) = (pair.now, pair.log.len());
    pair.lose_packets(
        |packet| {
            if packet.data.len() > 1300 { Verdict::Lose } else { Verdict::Deliver }
        },
    );
    static LARGE: [u8; 1400] = [7; 1400];
    pair.client.send(now, &LARGE);
    pair.exchange_packets();
    let refused = pair.sent_since(since).iter().find(|p| p.data.len() > 1300).unwrap().clone();
    let tuple = reverse_tuple(refused.tuple);
    pair.client.endpoint.packet_refused(now, tuple, &refused.data, Some(1200));
    pair.run_for(Duration::from_millis(50));
    let again = pair.sent_since(since).iter().filter(|p| p.data.len() > 1300);
    assert_eq!(again.count(), 2, "not only when T3 expires: on the path that carries it");
}

#[test]
fn packets_fit_the_path_as_they_did() {
    let mut pair = connected(&protected());
    let now = pair.now;
    let h = pair.client.handle();
    pair.client.saturates = Some(100_000);
    pair.client.fill_send_buffer(now, h);
    pair.run_for(SECOND);
    let longest = pair.log.iter().map(|packet| packet.data.len()).max().unwrap();
    // 1500 less an IPv4 header, in multiples of 4.
    assert_eq!(longest, 1480);
    assert!(pair.log.iter().all(|packet| !packet.may_fragment));
}

#[test]
fn what_the_server_says_first_cannot_overtake_its_cookie_ack() {
    let mut pair = connecting(&protected());
    pair.run_for(SECOND);
    assert_protected(&pair);
    let acks: Vec<_> = pair.log.iter().filter(|p| p.first_kind() == kind::COOKIE_ACK).collect();
    let [ack] = acks[..] else { panic!("{} COOKIE ACKs", acks.len()) };
    assert_eq!(ack.kinds(), [kind::COOKIE_ACK, kind::SACK, kind::DATA]);
    let before = pair.log.iter().filter(|p| p.at < ack.at && p.way == Way::ToClient);
    assert_eq!(before.count(), 1, "the INIT ACK");
}

#[test]
fn who_comes_when_too_many_exchange_keys_comes_again_and_gets_in() {
    let mut server = as_server(&protected());
    server.replies.key_exchanges_per_network = 1;
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    for _ in 0..3 {
        let (h, now) = (pair.connect_with(protected()), pair.now);
        pair.run_for(Duration::from_millis(200));
        if pair.client.established() == 1 {
            pair.client.endpoint.association_mut(h).unwrap().abort(now, Bytes::new());
            pair.run_for(Duration::from_millis(50));
            pair.client.endpoint.remove(h);
            pair.client.events.clear();
        } else {
            break;
        }
    }
    assert!(pair.server.endpoint.stats().replies_suppressed > 0, "it was too many");
    pair.run_for(SECOND.saturating_mul(5));
    assert_eq!((pair.client.established(), pair.client.closed()), (1, None));
}

#[test]
fn a_cookie_echo_that_is_lost_for_half_a_minute_takes_none_of_the_exchanges_time() {
    let mut pair = connecting(&protected());
    pair.lose_first(5, |packet| packet.first_kind() == kind::COOKIE_ECHO);
    pair.run_for(SECOND.saturating_mul(40));
    assert_protected(&pair);
}
