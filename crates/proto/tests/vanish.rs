//! Peers that vanish while nothing is sent: heartbeats alone tell (RFC 9260 section 8.1).

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, PfConfig, Rescheduling};
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, State};
use polypath_testkit::pair::*;

const SECOND: Duration = Duration::from_secs(1);

/// Idle on two paths; both ends have these settings.
fn idle(config: AssocConfig) -> Pair {
    let mut server = endpoint(SERVER_PORT, &server_addresses());
    server.assoc = std::sync::Arc::new(config.clone());
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    pair.connect_with(config);
    pair.run_for(5 * SECOND);
    assert_eq!(states(&pair), [State::Established; 2]);
    pair
}

fn states(pair: &Pair) -> [State; 2] {
    [pair.client.state(), pair.server.state()]
}

/// Probes failed paths once a second, as one would deploy it.
fn probing() -> AssocConfig {
    let mut config = AssocConfig {
        heartbeat_interval: Some(SECOND / 2),
        potentially_failed: Some(PfConfig { probe: Some(SECOND), ..PfConfig::default() }),
        ..AssocConfig::default()
    };
    config.rto.min = SECOND / 5;
    config.rto.max = 10 * SECOND;
    config
}

#[test]
fn an_idle_association_ends_when_the_peer_has_vanished() {
    for config in [AssocConfig::default(), probing()] {
        let mut pair = idle(config);
        pair.lose_packets(|_| Verdict::Lose);
        pair.run_for(3600 * SECOND);
        assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
        assert_eq!(pair.server.closed(), Some(CloseReason::Unreachable));
    }
}

#[test]
fn nothing_but_one_abort_is_sent_once_it_has_ended() {
    for config in [AssocConfig::default(), probing()] {
        let mut pair = idle(config);
        pair.lose_packets(|_| Verdict::Lose);
        let mut sent = pair.log.len();
        while pair.client.closed().is_none() {
            sent = pair.log.len();
            let next = pair.next_event().unwrap();
            pair.run_for(next.since(pair.now));
        }
        let last = pair.log[sent..].iter().filter(|packet| packet.way == Way::ToServer);
        let kinds: Vec<_> = last.map(Packet::kinds).collect();
        assert_eq!(kinds, [[craft::ABORT]], "not with the last count of errors either");
        let h = pair.client.handle();
        let reason = pair.client.endpoint.association(h).unwrap().close_reason();
        assert_eq!(reason, Some(&CloseReason::Unreachable));
    }
}

#[test]
fn without_heartbeats_nobody_notices() {
    let mut pair = idle(AssocConfig { heartbeat_interval: None, ..AssocConfig::default() });
    pair.lose_packets(|_| Verdict::Lose);
    pair.run_for(3600 * SECOND);
    assert_eq!(states(&pair), [State::Established; 2]);
}

#[test]
fn an_idle_association_lives_while_any_path_does() {
    for config in [AssocConfig::default(), probing()] {
        let mut pair = idle(config);
        // The first, which is primary, is dead.
        let dead = client_paths()[0];
        pair.lose_packets(move |p| {
            let on_it = p.tuple == dead || p.tuple == reverse_tuple(dead);
            if on_it { Verdict::Lose } else { Verdict::Deliver }
        });
        pair.run_for(3600 * SECOND);
        assert_eq!(states(&pair), [State::Established; 2]);
        let now = pair.now;
        pair.client.send(now, b"still there");
        pair.run_for(60 * SECOND);
        assert_eq!(pair.server.texts(), [b"still there"]);
    }
}

#[test]
fn frequent_probes_do_not_end_it_sooner_than_timeouts_would() {
    let mut pair = idle(probing());
    pair.lose_packets(|_| Verdict::Lose);
    pair.run_for(20 * SECOND);
    assert_eq!(states(&pair), [State::Established; 2]);
    pair.deliver_all();
    pair.run_for(5 * SECOND);
    let now = pair.now;
    pair.server.send(now, b"back");
    pair.run_for(SECOND);
    assert_eq!(pair.client.texts(), [b"back"]);
}

#[test]
fn an_address_that_goes_once_it_has_ended_is_no_news() {
    let mut config = AssocConfig::default();
    config.recovery.rescheduling = Rescheduling::Silent;
    let mut pair = idle(config);
    let (now, handle) = (pair.now, pair.client.handle());
    pair.client.endpoint.association_mut(handle).unwrap().abort(now, Bytes::new());
    pair.client.endpoint.remove_address(now, client_addresses()[0]);
    pair.run_for(SECOND);
    let last = pair.client.events.last().map(|(_, event)| event);
    assert!(matches!(last, Some(Event::Closed(_))), "{last:?}");
}
