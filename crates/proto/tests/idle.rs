//! Associations that nobody uses for hours.

use bytes::Bytes;
use polypath_proto::SendOptions;
use polypath_proto::config::{AssocConfig, ExtensionConfig, PfConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_testkit::pair::*;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// As it comes, and with everything that may run by the clock.
fn kinds() -> [AssocConfig; 2] {
    let mut busy = AssocConfig {
        extensions: ExtensionConfig::ALL,
        heartbeat_interval: Some(SECOND / 2),
        potentially_failed: Some(PfConfig { probe: Some(SECOND), ..PfConfig::default() }),
        ..AssocConfig::default()
    };
    busy.rto.min = SECOND / 5;
    [AssocConfig::default(), busy]
}

#[test]
fn ten_hours_without_a_word_change_nothing() {
    for config in kinds() {
        let mut server = endpoint(SERVER_PORT, &server_addresses());
        server.assoc = std::sync::Arc::new(config.clone());
        let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
        let h = pair.connect_with(config);
        pair.run_for(SECOND);
        let before = pair.client.endpoint.association(h).unwrap().stats();
        for _ in 0..10 {
            pair.run_for(HOUR);
            pair.log.clear();
        }
        let told = pair.client.events.len();
        let after = pair.client.endpoint.association(h).unwrap().stats();
        assert_eq!(after.data_chunks_sent, before.data_chunks_sent);
        assert_eq!(after.timeouts, 0);
        for i in 0..50u8 {
            let assoc = pair.client.endpoint.association_mut(h).unwrap();
            let data = Bytes::from(vec![i; 1200]);
            assoc.send(pair.now, StreamId(0), data, SendOptions::default()).unwrap();
        }
        pair.run_for(10 * SECOND);
        let got: Vec<u8> = pair.server.received.iter().map(|m| m.data[0]).collect();
        assert_eq!(got, (0..50).collect::<Vec<u8>>());
        let paths = pair.client.endpoint.association(h).unwrap().stats().paths;
        assert!(paths.iter().all(|path| path.srtt.is_some()), "measured by heartbeats: {paths:?}");
        assert!(pair.client.events.len() >= told);
    }
}
