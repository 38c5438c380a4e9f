//! TSNs that wrap in the middle of a transfer, at both ends and with losses.

use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::AssocConfig;
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::time::Duration;
use polypath_proto::{Event, SendOptions};
use polypath_testkit::pair::*;

#[test]
fn a_transfer_crosses_the_wrap_of_its_tsns() {
    let reproduction = begin_at(Tsn(u32::MAX - 20));
    let config = Arc::new(AssocConfig { reproduction, ..AssocConfig::default() });
    let mut ends = [endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[])];
    ends[1].assoc = config.clone();
    let [client, server] = ends;
    let mut pair = Pair::with(client, server);
    let path = tuple("10.1.0.1", "10.2.0.1");
    let h = pair.client.endpoint.connect(pair.now, &[path], SERVER_PORT, config).unwrap();
    pair.run_for(Duration::from_secs(1));
    // Every ninth packet is lost, the wrap's neighbourhood included.
    let mut n = 0;
    pair.lose_packets(move |_| {
        n += 1;
        if n % 9 == 0 { Verdict::Lose } else { Verdict::Deliver }
    });
    for i in 0..100u8 {
        let assoc = pair.client.endpoint.association_mut(h).unwrap();
        let data = Bytes::from(vec![i; 1000]);
        assoc.send(pair.now, StreamId(0), data, SendOptions::default()).unwrap();
    }
    pair.run_for(Duration::from_secs(120));
    let got: Vec<u8> = pair.server.received.iter().map(|m| m.data[0]).collect();
    assert_eq!(got, (0..100).collect::<Vec<u8>>());
    assert!(pair.client.events.iter().any(|(_, e)| *e == Event::SenderDry));
}

#[test]
fn a_stream_crosses_the_wrap_of_its_ssns() {
    let mut pair = Pair::connected();
    let h = pair.client.handle();
    let mut n = 0;
    pair.lose_packets(move |_| {
        n += 1;
        if n % 50 == 0 { Verdict::Lose } else { Verdict::Deliver }
    });
    let count = (1u32 << 16) + 500;
    for i in 0..count {
        let assoc = pair.client.endpoint.association_mut(h).unwrap();
        let data = Bytes::copy_from_slice(&i.to_be_bytes());
        assoc.send(pair.now, StreamId(3), data, SendOptions::default()).unwrap();
        if i % 4000 == 0 {
            pair.run_for(Duration::from_secs(5));
            pair.log.clear();
        }
    }
    pair.run_for(Duration::from_secs(600));
    let got =
        pair.server.received.iter().map(|m| u32::from_be_bytes(m.data[..].try_into().unwrap()));
    assert!(got.eq(0..count), "{} of {count}", pair.server.received.len());
}
