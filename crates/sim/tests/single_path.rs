//! One path, where everything can be worked out by hand.

use crate::common::{MBIT, MS, SEC, file, link, run, saturated, seconds, world};
use polypath_proto::config::Encapsulation;
use polypath_sim::results::Outcome;
use polypath_sim::spec::{AppSpec, MessageSpec, ReaderSpec};

/// IP, SCTP and DATA headers take 48 of 1500 bytes.
const PAYLOAD_SHARE: f64 = 1452.0 / 1500.0;

#[test]
fn a_saturated_link_carries_its_rate_less_headers() {
    let mut spec = world(&[link(10, 10)], saturated(), 100_000);
    spec.time = seconds(5, 20);
    let result = run(&spec, 1);
    let flow = &result.flows[0];
    let full = 10e6 * PAYLOAD_SHARE;
    assert!((flow.total.goodput / full - 1.0).abs() < 0.001, "{} of {full}", flow.total.goodput);
    assert_eq!(flow.counters.retransmissions_fast + flow.counters.retransmissions_timeout, 0);
    assert_eq!(flow.outcome, Outcome::Open);
    let forward = &result.links[0];
    assert!(forward.busy > 19_990 * MS, "busy for {} ns of 20 s", forward.busy);
    // Little's law: a message is in the send buffer for its size over the goodput, and it is
    // delivered before its acknowledgement travels for 10 ms.
    let delay = flow.total.delay.unwrap().mean / 1e9;
    assert!((delay + 0.010 - 100_000.0 * 8.0 / full).abs() < 0.003, "{delay} s");
}

#[test]
fn only_the_measuring_time_counts() {
    let app = AppSpec::ConstantRate { messages: MessageSpec::default(), rate: 1_161_600 };
    let mut spec = world(&[link(10, 10)], app, 100_000);
    spec.time = seconds(5, 10);
    let result = run(&spec, 1);
    assert_eq!((result.measured, result.end), (10 * SEC, 15 * SEC));
    // 100 messages per second.
    let flow = &result.flows[0];
    assert!((999..=1001).contains(&flow.total.messages), "{} messages", flow.total.messages);
    assert_eq!(flow.total.bytes, flow.total.messages * 1452);
    assert_eq!(flow.total.goodput, flow.total.bytes as f64 * 8.0 / 10.0);
    assert!(flow.counters.data_chunks_sent.abs_diff(flow.total.messages) <= 1);
    assert!(result.links[0].delivered.abs_diff(1000) <= 3, "heartbeats aside");
    // Each message finds the link idle: 1.2 ms to send 1500 bytes, 10 ms to get across.
    let delay = flow.total.delay.unwrap();
    assert_eq!((delay.p50 / 100_000, delay.mean.round() as u64), (112, 11_200_000));
}

#[test]
fn headers_below_sctp_count_on_the_link() {
    let app = AppSpec::ConstantRate { messages: MessageSpec::default(), rate: MBIT };
    let mut spec = world(&[link(10, 10)], app, 100_000);
    let plain = run(&spec, 1);
    spec.flows[0].encapsulation = Encapsulation::Udp;
    let udp = run(&spec, 1);
    let delay = |result: &polypath_sim::RunResult| result.flows[0].total.delay.unwrap().p50;
    // 8 more bytes at 10 Mbit/s take 6.4 us; but they no longer fit the MTU, so a message takes two
    // packets.
    assert!(delay(&udp) > delay(&plain));
    assert!(udp.links[0].offered > plain.links[0].offered);
}

#[test]
fn a_file_arrives_and_the_run_ends_with_it() {
    let mut spec = world(&[link(10, 10)], file(1_000_000), 100_000);
    spec.time = seconds(0, 100);
    let result = run(&spec, 1);
    let flow = &result.flows[0];
    assert_eq!(flow.outcome, Outcome::Finished);
    assert_eq!((flow.total.bytes, flow.total.messages), (1_000_000, 1_000_000_u64.div_ceil(1452)));
    assert_eq!(flow.integrity.outstanding, 0);
    let times = flow.times;
    let order = [
        times.connect,
        times.established,
        times.first_data_sent,
        times.first_data_arrived,
        times.first_delivery,
        times.last_delivery,
        times.closed,
        Some(result.end),
    ];
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}");
    // 689 packets of 1500 bytes take 0.83 s; slow start costs some round trips.
    let transfer = times.from_first_data().unwrap();
    assert!((830 * MS..1100 * MS).contains(&transfer), "{transfer} ns");
    assert_eq!(times.from_first_data().unwrap() - times.from_first_arrival().unwrap(), 11_200_000);
}

#[test]
fn a_slow_reader_holds_the_sender_back() {
    let mut spec = world(&[link(10, 10)], saturated(), 64 << 10);
    spec.flows[0].reader = ReaderSpec { rate: Some(MBIT), pauses: vec![(12 * SEC, 17 * SEC)] };
    spec.time = seconds(2, 20);
    let flow = run(&spec, 1).flows.remove(0);
    // 15 of 20 s are read at 1 Mbit/s; then the sender may wait for its next window probe, up to 2
    // s.
    assert!((650e3..755e3).contains(&flow.total.goodput), "{}", flow.total.goodput);
    assert!(flow.blocked_by_peer_window > 10 * SEC, "{}", flow.blocked_by_peer_window);
    assert!(flow.blocked_longest >= 4 * SEC, "{}", flow.blocked_longest);
    assert!(flow.receive_buffer.max > 60_000, "{:?}", flow.receive_buffer);
    assert!(flow.receive_buffer.mean > 50_000.0, "{:?}", flow.receive_buffer);
}

#[test]
fn requests_are_answered_after_a_round_trip() {
    let app = AppSpec::RequestResponse {
        request_bytes: 52,
        response_bytes: 52,
        think: 100 * MS,
        count: Some(20),
    };
    let mut spec = world(&[link(10, 10)], app, 100_000);
    spec.time = seconds(0, 60);
    let flow = run(&spec, 1).flows.remove(0);
    assert_eq!(flow.outcome, Outcome::Finished);
    let responses = flow.responses.unwrap();
    assert_eq!((flow.total.messages, responses.messages, responses.bytes), (20, 20, 20 * 52));
    // 100 bytes take 80 us each way at least; SACKs may share a packet with the response.
    let delay = responses.delay.unwrap();
    assert!((20_160_000..20_300_000).contains(&(delay.mean as u64)), "{delay:?}");
}

#[test]
fn silence_follows_sending() {
    let app = |rate| AppSpec::OnOff {
        messages: MessageSpec { bytes: 1000, ..MessageSpec::default() },
        rate,
        on: polypath_sim::spec::Period::Fixed(SEC),
        off: polypath_sim::spec::Period::Fixed(3 * SEC),
    };
    let mut spec = world(&[link(10, 10)], app(Some(MBIT)), 100_000);
    spec.time = seconds(4, 40);
    let paced = run(&spec, 1).flows.remove(0);
    assert!((paced.total.goodput / 250e3 - 1.0).abs() < 0.02, "{}", paced.total.goodput);
    spec.flows[0].app = app(None);
    let saturated = run(&spec, 1).flows.remove(0);
    assert!(saturated.total.goodput > 2.0e6 && saturated.total.goodput < 2.8e6);
}

#[test]
fn messages_of_one_byte_are_measured_too() {
    let messages = MessageSpec { bytes: 1, streams: 3, unordered: true, ..MessageSpec::default() };
    let app = AppSpec::ConstantRate { messages, rate: 8_000 };
    let mut spec = world(&[link(10, 10)], app, 100_000);
    spec.time = seconds(1, 3);
    let flow = run(&spec, 1).flows.remove(0);
    assert_eq!(flow.streams.len(), 3);
    assert!(flow.streams.iter().all(|stream| stream.messages.abs_diff(1000) <= 1));
    assert!(flow.total.delay.unwrap().p50 >= 10 * MS);
}

#[test]
fn messages_of_varying_size_come_at_the_rate_asked_for() {
    let sizes = |bytes, most_bytes| MessageSpec { bytes, most_bytes, ..MessageSpec::default() };
    let app = |messages| AppSpec::ConstantRate { messages, rate: MBIT };
    let mut spec = world(&[link(10, 10)], app(sizes(100, Some(10_000))), 100_000);
    spec.time = seconds(1, 20);
    let flow = run(&spec, 1).flows.remove(0);
    assert!((flow.total.goodput / MBIT as f64 - 1.0).abs() < 0.02, "{}", flow.total.goodput);
    // The mean of a log-uniform size is (b - a) / ln(b / a).
    let mean = flow.total.bytes as f64 / flow.total.messages as f64;
    assert!((mean / (9_900.0 / 100_f64.ln()) - 1.0).abs() < 0.1, "{mean} bytes");
    assert_eq!((flow.integrity.corrupted, flow.integrity.misordered), (0, 0));
    for (least, most) in [(100, 100), (100, 65_537)] {
        spec.flows[0].app = app(sizes(least, Some(most)));
        assert!(spec.check().is_err(), "{least} to {most}");
    }
}
