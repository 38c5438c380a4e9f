//! Both ends open at the same time, and other ways to meet.

use std::sync::Arc;

use polypath_proto::config::EndpointConfig;
use polypath_proto::time::Duration;
use polypath_testkit::pair::{
    CLIENT_PORT, Pair, SERVER_PORT, client_addresses, client_paths, endpoint, reverse_tuple,
    server_addresses,
};

use crate::common::*;

fn both(seconds: u32, late: Duration) {
    let config = protected();
    let ends =
        [endpoint(CLIENT_PORT, &client_addresses()), endpoint(SERVER_PORT, &server_addresses())];
    let [client, server] = ends.map(|end| EndpointConfig { assoc: config.clone().into(), ..end });
    let mut pair = Pair::with(client, server);
    let now = pair.now;
    let paths = client_paths();
    let shared = Arc::new(config);
    pair.client.endpoint.connect(now, &paths, SERVER_PORT, shared.clone()).unwrap();
    pair.run_for(late);
    if pair.server.count() == 0 {
        let back = paths.map(reverse_tuple);
        pair.server.endpoint.connect(pair.now, &back, CLIENT_PORT, shared).unwrap();
    }
    pair.run_for(SECOND.saturating_mul(seconds));
    assert_protected(&pair);
    assert_carries(&mut pair);
}

#[test]
fn both_ends_open_at_once() {
    for millis in 0..30 {
        both(5, Duration::from_millis(millis));
    }
}
