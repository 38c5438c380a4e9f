//! Buffers that grow with what the paths carry, and only then.

use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::time::{Duration, Time};
use polypath_testkit::pair::{self, Pair, Verdict};
use std::sync::Arc;

const START: u32 = 64 << 10;
const BOUND: u32 = 4 << 20;

fn config(bound: Option<u32>) -> AssocConfig {
    AssocConfig {
        receive_buffer: START,
        send_buffer: START.into(),
        receive_buffer_max: bound,
        send_buffer_max: bound.map(u64::from),
        max_burst: None,
        ..AssocConfig::default()
    }
}

/// A connected pair on a link of so many Mbit/s, a round trip of 100 ms, and a queue of 200 ms.
fn pair(mbit: u64, bound: Option<u32>) -> Pair {
    let server = EndpointConfig {
        assoc: Arc::new(config(bound)),
        ..pair::endpoint(pair::SERVER_PORT, &pair::server_addresses())
    };
    let client = pair::endpoint(pair::CLIENT_PORT, &pair::client_addresses());
    let mut pair = Pair::with(client, server);
    let mut free = [Time::ZERO; 2];
    pair.lose_packets(move |packet| {
        let way = packet.way as usize;
        let start = free[way].max(packet.at);
        if start - packet.at > Duration::from_millis(200) {
            return Verdict::Lose;
        }
        free[way] = start + Duration::from_nanos(packet.data.len() as u64 * 8000 / mbit);
        Verdict::Delay(free[way] - packet.at + Duration::from_millis(40))
    });
    pair.connect_with(config(bound));
    pair.run_for(Duration::from_secs(1));
    pair
}

/// Saturates for so many seconds. Gives Mbit/s in the last two of them, and the sizes of the
/// receiver's and the sender's buffers.
fn saturated(pair: &mut Pair, seconds: u64) -> (f64, u32, u64) {
    saturated_with(pair, 1400, seconds)
}

/// The same with messages of so many bytes.
fn saturated_with(pair: &mut Pair, bytes: usize, seconds: u64) -> (f64, u32, u64) {
    let h = pair.client.handle();
    pair.client.saturates = Some(bytes);
    pair.client.fill_send_buffer(pair.now, h);
    pair.run_for(Duration::from_secs(seconds - 2));
    let before = pair.server.received.len();
    pair.run_for(Duration::from_secs(2));
    let rate = (pair.server.received.len() - before) as f64 * bytes as f64 * 8.0 / 2e6;
    let sizes = |host: &pair::End| {
        host.endpoint.association(host.handle()).expect("association").buffer_sizes()
    };
    (rate, sizes(&pair.server).0, sizes(&pair.client).1)
}

#[test]
fn buffers_grow_until_the_path_is_full_and_fixed_ones_leave_it_empty() {
    let (rate, ..) = saturated(&mut pair(50, None), 6);
    assert!(rate < 6.0, "64 KiB per 100 ms: {rate} Mbit/s");
    let (rate, receive, send) = saturated(&mut pair(50, Some(BOUND)), 8);
    assert!(rate > 44.0, "{rate} Mbit/s with {receive} and {send} bytes");
    // 50 Mbit/s for 100 ms are 625 kB; the queue adds up to twice that.
    assert!((1_000_000..=BOUND).contains(&receive), "{receive}");
    assert!((600_000..=u64::from(BOUND)).contains(&send), "{send}");
}

#[test]
fn a_slow_path_keeps_buffers_small() {
    let (rate, receive, send) = saturated(&mut pair(1, Some(BOUND)), 8);
    assert!(rate > 0.8, "{rate}");
    assert!(receive <= 2 * START && send <= u64::from(2 * START), "{receive}, {send}");
}

#[test]
fn a_reader_that_is_slow_gets_no_larger_buffer() {
    let mut pair = pair(50, Some(BOUND));
    pair.server.reads = false;
    let (_, receive, _) = saturated(&mut pair, 8);
    assert_eq!(receive, START);
}

#[test]
fn the_bound_is_kept() {
    let bound = 4 * START;
    let mut pair = pair(50, Some(bound));
    let (rate, receive, send) = saturated(&mut pair, 6);
    assert_eq!((receive, send), (bound, u64::from(bound)));
    assert!((15.0..25.0).contains(&rate), "256 KiB per 100 ms: {rate} Mbit/s");
    let h = pair.server.handle();
    let held = pair.server.endpoint.association(h).expect("association").receive_buffer().0;
    assert!(held <= bound);
}

#[test]
fn a_buffer_that_small_messages_fill_with_bookkeeping_grows_too() {
    let (rate, _, send) = saturated_with(&mut pair(5, Some(BOUND)), 100, 8);
    // 118 bytes on the wire for 100.
    assert!(rate > 0.8 * 5.0 / 1.18, "{rate} Mbit/s with {send} bytes");
    // Of these, few bytes are in flight while all memory is in use.
    let (_, _, send) = saturated_with(&mut pair(5, Some(BOUND)), 10, 8);
    assert!(send > u64::from(2 * START), "{send}");
}
