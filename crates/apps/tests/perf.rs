//! Tests of a fraction of a second over the loopback device: what both ends say has to agree. No
//! assertion about speed.

use std::net::IpAddr;
use std::time::Duration;

use polypath_apps::admission::Places;
use polypath_apps::perf::{
    ClientOptions, ClientReport, Limits, Load, PerfError, Progress, Server, ServerOptions, Session,
    SessionUpdate, TestSpec, Way, run_client, stop_switch,
};
use polypath_net::{Config, Encapsulation, Endpoint, Pairing, SendOptions};
use tokio::sync::mpsc;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

fn server_options(one_off: bool) -> ServerOptions {
    let endpoint = Config::insecure_server([ip(3), ip(4)], 5000);
    let endpoint = endpoint.encapsulation(Encapsulation::Udp(0));
    let places = Places { all: 8, per_source: 4 };
    ServerOptions { endpoint, places, one_off, limits: Limits::default() }
}

fn test() -> TestSpec {
    TestSpec {
        duration_ms: 300,
        omit_ms: 0,
        interval_ms: 100,
        way: Way::Forward,
        streams: 3,
        size: 1000,
        unordered: false,
        load: Load::Saturated,
    }
}

fn client_options(server: &Server, test: TestSpec) -> ClientOptions {
    ClientOptions {
        endpoint: Config::insecure_client([ip(1), ip(2)]),
        remote: server.local_addresses().to_vec(),
        port: server.port(),
        pairing: Pairing::Auto,
        parallel: 1,
        test,
        connect_timeout: Duration::from_secs(10),
    }
}

/// Runs a server for one test, and the test.
async fn both(change: impl FnOnce(&mut ClientOptions)) -> (ClientReport, Vec<Session>) {
    let server = Server::bind(server_options(true)).unwrap();
    let mut options = client_options(&server, test());
    change(&mut options);
    let (sessions, mut ended) = mpsc::unbounded_channel();
    let (_server_switch, server_stop) = stop_switch();
    let serving = tokio::spawn(server.run(sessions, server_stop));
    let (progress, _nobody) = mpsc::unbounded_channel::<Progress>();
    let (_switch, stop) = stop_switch();
    let report = run_client(options, progress, stop, |_| {}).await.unwrap();
    serving.await.unwrap();
    let mut over = Vec::new();
    while let Some(update) = ended.recv().await {
        if let SessionUpdate::Ended(session) = update {
            over.push(*session);
        }
    }
    (report, over)
}

#[tokio::test]
async fn a_saturated_test_is_told_by_both_ends_alike() {
    let (report, sessions) = both(|_| {}).await;
    assert_eq!((report.error(), report.associations.len()), (None, 1), "{:?}", sessions[0].error);
    let one = &report.associations[0];
    let server = one.server.as_ref().unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(
        (sessions[0].error.as_deref(), sessions[0].report.received),
        (None, server.received)
    );
    assert!(one.clock.common, "{:?}", one.clock);
    // What is handed in after the last cut belongs to nobody's measured time; what was handed in
    // before arrives.
    assert!(server.received.messages + server.late.messages >= one.client.sent.messages);
    assert_eq!(server.received.bytes, server.received.messages * 1000);
    assert_eq!((one.client.intervals.len(), server.intervals.len()), (3, 3));
    let summed: u64 = server.intervals.iter().map(|i| i.received.bytes).sum();
    assert_eq!(summed, server.received.bytes);
    let by_stream: u64 = server.streams.iter().map(|s| s.received.bytes).sum();
    assert_eq!((server.streams.len(), by_stream), (3, server.received.bytes));
    assert!(server.streams.iter().all(|s| s.received.messages > 0 && s.delay.is_some()));
    let by_path: u64 = one.client.paths.iter().map(|p| p.goodput_bytes).sum();
    assert!(by_path.abs_diff(server.received.bytes) <= 2);
    assert!(one.client.paths.len() == 2 && one.client.paths.iter().all(|p| p.cwnd > 0));
    assert!(server.delay.unwrap().count > 0 && one.client.cpu.total() > 0.0);
    assert_eq!(report.sums.len(), 1);
    assert!(report.sums[0].goodput_mbit > 0.0);
}

#[tokio::test]
async fn reverse_and_both_ways() {
    let (report, _) = both(|o| o.test.way = Way::Reverse).await;
    let one = &report.associations[0];
    assert_eq!(report.error(), None);
    assert!(one.client.received.bytes > 0 && one.server.as_ref().unwrap().received.bytes == 0);
    let (report, _) = both(|o| (o.test.way, o.test.unordered) = (Way::Both, true)).await;
    let one = &report.associations[0];
    assert_eq!(report.error(), None);
    assert!(one.client.received.bytes > 0 && one.server.as_ref().unwrap().received.bytes > 0);
    assert_eq!(report.sums.len(), 2);
}

#[tokio::test]
async fn a_constant_rate_is_kept_and_every_message_measured() {
    let change = |o: &mut ClientOptions| o.test.load = Load::Rate(8_000_000);
    let (report, _) = both(change).await;
    let server = report.associations[0].server.as_ref().unwrap();
    let all = server.received.messages + server.late.messages;
    // 0.3 s of 1,000 messages per second; a busy machine may begin late, and never sends more.
    assert!((1..=301).contains(&all), "{all}");
    assert_eq!(server.delay.unwrap().count, server.received.messages);
}

#[tokio::test]
async fn requests_are_answered_one_by_one_on_every_stream() {
    let change = |o: &mut ClientOptions| o.test.load = Load::RequestResponse(300);
    let (report, _) = both(change).await;
    let one = &report.associations[0];
    assert_eq!(report.error(), None);
    let got = one.client.received;
    assert!(got.messages > 3 && got.bytes == got.messages * 300, "{got:?}");
    assert_eq!(one.client.delay.unwrap().count, got.messages);
    let open = one.client.sent.messages - got.messages;
    assert!(open <= 3, "{open}");
}

#[tokio::test]
async fn associations_run_side_by_side_and_the_first_part_can_be_omitted() {
    let (report, sessions) = both(|o| (o.parallel, o.test.omit_ms) = (3, 100)).await;
    assert_eq!((report.associations.len(), sessions.len(), report.error()), (3, 3, None));
    for one in &report.associations {
        let omitted: Vec<_> = one.client.intervals.iter().map(|i| i.omitted).collect();
        assert_eq!(omitted, [true, false, false, false]);
        let server = one.server.as_ref().unwrap();
        let counted = server.intervals.iter().filter(|i| !i.omitted).map(|i| i.received.bytes);
        assert_eq!(counted.sum::<u64>(), server.received.bytes);
    }
}

#[tokio::test]
async fn the_user_ends_a_test_early_and_still_has_results_of_both_ends() {
    let server = Server::bind(server_options(true)).unwrap();
    let test = TestSpec { duration_ms: 3_600_000, interval_ms: 1000, ..test() };
    let options = client_options(&server, test);
    let (sessions, _ended) = mpsc::unbounded_channel();
    let (_server_switch, server_stop) = stop_switch();
    let serving = tokio::spawn(server.run(sessions, server_stop));
    let (progress, mut seen) = mpsc::unbounded_channel::<Progress>();
    let (switch, stop) = stop_switch();
    let testing = tokio::spawn(run_client(options, progress, stop, |_| {}));
    seen.recv().await.unwrap();
    switch.send_replace(true);
    let report = testing.await.unwrap().unwrap();
    assert!(report.interrupted && report.error().is_none());
    assert!(report.associations[0].server.as_ref().unwrap().received.bytes > 0);
    serving.await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_stopped_leaves_the_client_with_what_it_has() {
    let server = Server::bind(server_options(false)).unwrap();
    let test = TestSpec { duration_ms: 3_600_000, interval_ms: 1000, ..test() };
    let options = client_options(&server, test);
    let (sessions, _ended) = mpsc::unbounded_channel();
    let (server_switch, server_stop) = stop_switch();
    let serving = tokio::spawn(server.run(sessions, server_stop));
    let (progress, mut seen) = mpsc::unbounded_channel::<Progress>();
    let (_switch, stop) = stop_switch();
    let testing = tokio::spawn(run_client(options, progress, stop, |_| {}));
    seen.recv().await.unwrap();
    server_switch.send_replace(true);
    serving.await.unwrap();
    let report = testing.await.unwrap().unwrap();
    assert!(report.error().unwrap().contains("aborted"), "{:?}", report.error());
    assert!(report.associations[0].server.is_none());
    assert!(report.associations[0].client.sent.bytes > 0);
}

#[tokio::test]
async fn what_the_server_does_not_allow_it_says() {
    let limits = Limits { duration: Duration::from_millis(100), ..Limits::default() };
    let server = Server::bind(ServerOptions { limits, ..server_options(false) }).unwrap();
    let options = client_options(&server, test());
    let (sessions, _ended) = mpsc::unbounded_channel();
    let (_server_switch, server_stop) = stop_switch();
    let serving = tokio::spawn(server.run(sessions, server_stop));
    let (progress, _nobody) = mpsc::unbounded_channel::<Progress>();
    let (_switch, stop) = stop_switch();
    let error = run_client(options, progress, stop, |_| {}).await.unwrap_err();
    assert!(matches!(&error, PerfError::Refused(_)), "{error}");
    assert!(error.to_string().contains("duration"), "{error}");
    serving.abort();
}

#[tokio::test]
async fn strangers_who_speak_nonsense_are_sent_away_and_others_served() {
    let server = Server::bind(server_options(false)).unwrap();
    let (addresses, port) = (server.local_addresses().to_vec(), server.port());
    let options = client_options(&server, test());
    let (sessions, _ended) = mpsc::unbounded_channel();
    let (_server_switch, server_stop) = stop_switch();
    let serving = tokio::spawn(server.run(sessions, server_stop));
    let stranger = Endpoint::bind(Config::insecure_client([ip(1)])).unwrap();
    let nonsense: [(u16, u32, Vec<u8>); 4] = [
        (0, 0x5050_0001, b"{\"type\":\"hello\"}".to_vec()),
        (0, 0x5050_0001, vec![b'['; 100_000]),
        (0, 0, b"hello".to_vec()),
        (1, 0x5050_0010, vec![0; 5000]),
    ];
    for (stream, ppid, bytes) in nonsense {
        let association = stranger.connect(&addresses[..1], port).await.unwrap();
        let options = SendOptions { ppid, ..SendOptions::default() };
        association.send_with(stream, bytes, options).await.unwrap();
        let reason = association.closed().await;
        assert!(matches!(reason, polypath_net::CloseReason::PeerAbort { .. }), "{reason:?}");
    }
    let (progress, _nobody) = mpsc::unbounded_channel::<Progress>();
    let (_switch, stop) = stop_switch();
    let report = run_client(options, progress, stop, |_| {}).await.unwrap();
    assert_eq!(report.error(), None);
    serving.abort();
}

/// A server that goes along until the test begins, and then sends `odd` (stream, payload protocol
/// identifier, bytes).
async fn lying_server(endpoint: Endpoint, ready: &'static str, odd: Vec<(u16, u32, Vec<u8>)>) {
    let association = endpoint.accept().await.unwrap();
    let tell = async |stream, ppid, bytes: Vec<u8>| {
        let options = SendOptions { ppid, ..SendOptions::default() };
        association.send_with(stream, bytes, options).await
    };
    while let Ok(Some(message)) = association.recv().await {
        let text = String::from_utf8_lossy(&message.data);
        let answer = if text.contains("\"hello\"") {
            ready
        } else if text.contains("\"ping\"") {
            r#"{"type":"pong","now_ns":18446744073709551615}"#
        } else if text.contains("\"start\"") {
            r#"{"type":"begun"}"#
        } else if text.contains("\"sent\"") {
            for (stream, ppid, bytes) in &odd {
                let _ = tell(*stream, *ppid, bytes.clone()).await;
            }
            continue;
        } else {
            continue;
        };
        let _ = tell(0, 0x5050_0001, answer.into()).await;
    }
}

async fn lied_to(
    ready: &'static str,
    odd: Vec<(u16, u32, Vec<u8>)>,
) -> Result<ClientReport, PerfError> {
    let config = Config::insecure_server([ip(9)], 5000).encapsulation(Encapsulation::Udp(0));
    let endpoint = Endpoint::bind(config).unwrap();
    let options = ClientOptions {
        endpoint: Config::insecure_client([ip(1)]),
        remote: endpoint.local_addresses().to_vec(),
        port: 5000,
        pairing: Pairing::Auto,
        parallel: 1,
        test: test(),
        connect_timeout: Duration::from_secs(10),
    };
    let lying = tokio::spawn(lying_server(endpoint, ready, odd));
    let (progress, _nobody) = mpsc::unbounded_channel::<Progress>();
    let (_switch, stop) = stop_switch();
    let outcome = run_client(options, progress, stop, |_| {}).await;
    lying.abort();
    outcome
}

#[tokio::test]
async fn a_server_that_lies_ends_the_test_in_one_tame_line() {
    const READY: &str = r#"{"type":"ready","clock":"0123456789abcdef"}"#;
    let refused = lied_to(r#"{"type":"refused","reason":"\u001b[2Jno\nroom"}"#, Vec::new()).await;
    let told = refused.unwrap_err().to_string();
    assert!(told.contains(r"no\nroom") && is_plain(&told), "{told}");
    let unknown = lied_to(r#"{"type":"\u001b[2J\u202e\u009b1m\u2066"}"#, Vec::new()).await;
    let told = unknown.unwrap_err().to_string();
    assert!(told.contains("u{202e}") && is_plain(&told), "{told}");
    assert!(lied_to(r#"{"type":"begun"}"#, Vec::new()).await.is_err());
    let odd: [(u16, u32, &[u8]); 6] = [
        (0, 0x5050_0003, b"no JSON"),
        (0, 0x5050_0003, b"{\"seconds\":1}"),
        (0, 0x5050_0003, &[b'['; 60_000]),
        (0, 0x1234, b"?"),
        (1, 0x5050_0012, b"an answer that nobody asked for"),
        (5, 0x5050_0011, b"a request to a client"),
    ];
    for (stream, ppid, bytes) in odd {
        let report = lied_to(READY, vec![(stream, ppid, bytes.to_vec())]).await.unwrap();
        let error = report.error().unwrap();
        assert!(error.contains("protocol") && !error.contains('\n'), "{error}");
        assert!(report.associations[0].client.sent.bytes > 0);
    }
}

/// Whether nothing in it could drive a terminal or turn the direction of writing.
fn is_plain(text: &str) -> bool {
    let odd = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202e}', '\u{2066}'];
    !text.contains(odd) && text.chars().all(|c| !c.is_control() || c == '\n')
}

#[tokio::test]
async fn what_a_servers_report_says_is_shown_escaped() {
    const READY: &str = r#"{"type":"ready","clock":"0123456789abcdef"}"#;
    let evil = "cwnd\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{2066}\u{200f}\u{61c}\n[  1] forged line";
    let path = serde_json::json!({
        "path": 0, "local": "192.0.2.1:1", "remote": "192.0.2.2:1", "payload_bytes": 1,
        "goodput_bytes": 0, "retransmissions": 0, "copies": 0, "timeouts": 0, "srtt_ms": null,
        "cwnd": 1, "outstanding": 0, "state": "active", "note": evil,
    });
    let interval = serde_json::json!({
        "start": 0.0, "end": 1.0, "omitted": false, "sent": {"messages": 0, "bytes": 0},
        "transmitted_bytes": 0, "received": {"messages": 0, "bytes": 0}, "delay": null,
        "cpu": {"user": 0.0, "system": 0.0}, "paths": [path.clone()], "streams": [],
        "stalls": [evil],
    });
    let limits: Vec<_> =
        (0..2000).map(|_| serde_json::json!({"limit": evil, "share": 0.5})).collect();
    let report = serde_json::json!({
        "seconds": 1.0, "sent": {"messages": 1, "bytes": 1}, "transmitted_bytes": 1,
        "received": {"messages": 0, "bytes": 0}, "late": {"messages": 0, "bytes": 0},
        "delay": null, "cpu": {"user": 0.0, "system": 0.0}, "paths": [path], "streams": [],
        "limits": limits, "intervals": [interval],
    });
    // The lying server waits for the client's count of messages, then ships its report.
    let odd = vec![(0, 0x5050_0003, report.to_string().into_bytes())];
    let report = lied_to(READY, odd).await.unwrap();
    assert_eq!(report.error(), None);
    let server = report.associations[0].server.as_ref().unwrap();
    assert!(server.limits.len() <= 32, "{} limits", server.limits.len());
    let shown = polypath_apps::perf::text::format_client(&report);
    assert!(is_plain(&shown), "{shown:?}");
    assert!(!shown.lines().any(|line| line.starts_with("[  1] forged")), "{shown}");
    let json = serde_json::to_value(&report).unwrap();
    let mut texts = Vec::new();
    strings(&json, &mut texts);
    assert!(texts.iter().any(|text| text.contains("forged")));
    assert!(texts.iter().all(|text| is_plain(text) && !text.contains('\n')), "{texts:?}");
}

/// All texts in a piece of JSON.
fn strings(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(all) => all.iter().for_each(|v| strings(v, found)),
        serde_json::Value::Object(all) => all.values().for_each(|v| strings(v, found)),
        _ => {}
    }
}
