//! Many associations of one endpoint: each gets its packets, timers and events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::AssocConfig;
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::trace::TraceRecord;
use polypath_proto::{AssocHandle, CloseReason, Event, SendOptions};
use polypath_testkit::pair::craft::{chunk, read_init_ack, to_server};
use polypath_testkit::pair::*;
use polypath_wire::{CausesBuf, ErrorCause, ErrorChunk};

const COUNT: usize = 50;

/// `COUNT` associations, each between two addresses of its own.
fn crowd() -> (Pair, Vec<AssocHandle>) {
    crowd_with(AssocConfig::default())
}

fn crowd_with(config: AssocConfig) -> (Pair, Vec<AssocHandle>) {
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[]));
    let handles = (0..COUNT)
        .map(|i| {
            let path = tuple(&format!("10.1.0.{}", i + 1), &format!("10.2.0.{}", i + 1));
            let config = Arc::new(config.clone());
            pair.client.endpoint.connect(pair.now, &[path], SERVER_PORT, config).unwrap()
        })
        .collect();
    pair.run_for(Duration::from_secs(1));
    (pair, handles)
}

fn say(pair: &mut Pair, h: AssocHandle, text: String) {
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.send(pair.now, StreamId(0), Bytes::from(text), SendOptions::default()).unwrap();
}

#[test]
fn each_message_arrives_once() {
    let (mut pair, handles) = crowd();
    assert_eq!((pair.client.established(), pair.server.established()), (COUNT, COUNT));
    for (i, h) in handles.iter().enumerate() {
        say(&mut pair, *h, format!("message {i}"));
    }
    pair.run_for(Duration::from_secs(2));
    let texts: BTreeSet<Vec<u8>> = pair.server.received.iter().map(|m| m.data.to_vec()).collect();
    assert_eq!((texts.len(), pair.server.received.len()), (COUNT, COUNT));
}

#[test]
fn every_association_has_its_own_timers() {
    let (mut pair, handles) = crowd();
    pair.lose_packets(|_| Verdict::Lose);
    for h in &handles {
        say(&mut pair, *h, "into the void".into());
    }
    pair.run_for(Duration::from_secs(3600));
    let unreachable = Event::Closed(CloseReason::Unreachable);
    let closed: BTreeSet<AssocHandle> =
        pair.client.events.iter().filter(|(_, e)| *e == unreachable).map(|(h, _)| *h).collect();
    assert_eq!(closed.len(), COUNT);
}

/// Records of each of the client's associations, fetched as often.
fn traces(fetched_every: Duration) -> BTreeMap<AssocHandle, Vec<TraceRecord>> {
    let (mut pair, handles) = crowd_with(AssocConfig { trace: true, ..AssocConfig::default() });
    let mut traces: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (i, h) in handles.iter().enumerate().step_by(3) {
        say(&mut pair, *h, format!("message {i}"));
    }
    let end = pair.now + Duration::from_secs(60);
    while pair.now < end {
        pair.run_for(fetched_every);
        pair.client.endpoint.drain_traces(|h, _, records| {
            traces.entry(h).or_default().extend(records);
        });
    }
    pair.client.endpoint.drain_traces(|h, _, _| panic!("{h:?} recorded nothing since"));
    say(&mut pair, handles[1], "the last".into());
    say(&mut pair, handles[2], "of another".into());
    pair.run_for(Duration::from_secs(1));
    let (_, own) = pair.client.endpoint.take_trace(handles[1]).unwrap();
    traces.entry(handles[1]).or_default().extend(own);
    assert!(pair.client.endpoint.take_trace(handles[1]).is_none(), "once");
    let mut others = Vec::new();
    pair.client.endpoint.drain_traces(|h, _, _| others.push(h));
    assert!(others.contains(&handles[2]) && !others.contains(&handles[1]), "{others:?}");
    traces
}

#[test]
fn traces_are_whole_however_often_they_are_fetched() {
    let [seldom, often] = [60_000, 5].map(|every| traces(Duration::from_millis(every)));
    assert_eq!(seldom.len(), COUNT);
    assert_eq!(often, seldom);
}

#[test]
fn removed_associations_leave_no_timer_event_or_address_behind() {
    let (mut pair, handles) = crowd();
    for h in &handles {
        pair.client.endpoint.association_mut(*h).unwrap().shutdown(pair.now);
        pair.client.endpoint.remove(*h);
    }
    assert_eq!((pair.client.count(), pair.client.endpoint.poll_timeout()), (0, None));
    assert_eq!(pair.client.endpoint.poll_event(), None);
    assert_eq!(pair.client.endpoint.poll_transmit(pair.now, &mut Vec::new()), None);
    let path = tuple("10.1.0.1", "10.2.0.1");
    let config = Arc::new(AssocConfig::default());
    assert!(pair.client.endpoint.connect(pair.now, &[path], SERVER_PORT, config).is_ok());
}

#[test]
fn reported_errors_do_not_pile_up() {
    let mut pair = Pair::connected();
    let tag = read_init_ack(&pair.last_with(2)).0;
    let causes: CausesBuf = core::iter::repeat_n(ErrorCause::OutOfResource, 300).collect();
    let data = to_server(tag, &[&chunk(ErrorChunk { causes: causes.as_causes() })]);
    for _ in 0..100 {
        pair.server.endpoint.handle_datagram(pair.now, at_server(), &data);
    }
    pair.exchange_packets();
    let errors = pair.server.events.iter().filter(|(_, e)| matches!(e, Event::PeerError { .. }));
    assert_eq!(errors.count(), 16);
}
