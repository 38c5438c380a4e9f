//! Wide paths beside thin ones that look near, and peers that report few gap ack blocks: profile
//! `fast`.

use polypath_run::{Recording, run};
use polypath_scenario::Source;
use polypath_sim::results::{FlowResult, RunResult};

/// A receiver as WebRTC has it.
const WEBRTC: &str = "[stack.receiver]
    sack-delay = '200ms'
    sack-path = 'last-data'
    max-gap-blocks = 20
    dac = false
    nr-sack = 'off'
    extensions = ['pr-sctp', 're-config']";

/// One as Linux has it.
const LINUX: &str = "[stack.receiver]
    sack-delay = '200ms'
    sack-path = 'last-data'
    max-gap-blocks = 16
    dac = false
    nr-sack = 'off'
    extensions = []";

fn simulate(text: &str) -> RunResult {
    let scenario = Source::new("thin", text.to_owned()).unwrap().parse_scenario().unwrap();
    run(&scenario, 1, Recording::default(), &mut |_| ()).unwrap()
}

/// A saturated sender over paths A, B and so on, each of Mbit/s, delay and packets of queue, with
/// `buffer` bytes at either end; `flow` is said of the flow, `more` of the stack.
fn saturated(paths: &[(&str, &str, u32)], buffer: &str, flow: &str, more: &str) -> FlowResult {
    let path = |(n, (rate, delay, queue)): (usize, &(&str, &str, u32))| {
        let name = char::from(b'A' + n as u8);
        format!("[path.{name}]\nrate = '{rate}'\ndelay = '{delay}'\nqueue = '{queue}packets'\n")
    };
    let paths: String = paths.iter().enumerate().map(path).collect();
    over(&paths, buffer, flow, more, ["5s", "5s"])
}

/// The same over paths as the scenario has them, with what else stands there, measured after so
/// long and for so long.
fn over(paths: &str, buffer: &str, flow: &str, more: &str, time: [&str; 2]) -> FlowResult {
    let [settle, measure] = time;
    let result = simulate(&format!(
        "{paths}
         [stack]
         profile = 'fast'
         send-buffer = '{buffer}'
         receive-buffer = '{buffer}'
         {more}
         [[flow]]
         app = 'saturated'
         send-at = '1s'
         {flow}
         [time]
         settle = '{settle}'
         measure = '{measure}'"
    ));
    result.flows[0].clone()
}

/// What fits into `mbit` Mbit/s of packets of 1500 bytes, bit/s.
fn payload(mbit: f64) -> f64 {
    mbit * 1e6 * 1452.0 / 1500.0
}

#[test]
fn a_wide_path_keeps_its_rate_when_sacks_leave_the_way_of_a_near_one() {
    // Round trips of the wide path were by the near one's way back at first, and are longer
    // without.
    let paths = [("20Mbit/s", "8ms", 500), ("90kbit/s", "400us", 8)];
    let goodput = saturated(&paths, "8MB", "", "").total.goodput;
    assert!(goodput > 0.99 * payload(20.0), "{goodput}, and 14.2e6 as if that were a queue");
}

#[test]
fn copies_of_sacks_by_a_near_way_make_nothing_look_lost() {
    let paths = [("13Mbit/s", "100ms", 360), ("450kbit/s", "700us", 13), ("1.5Mbit/s", "80ms", 70)];
    let flow = saturated(&paths, "750kB", "unordered = true", "");
    assert!(flow.total.goodput > 0.97 * payload(14.5), "{}, was 10.4e6", flow.total.goodput);
}

#[test]
fn a_peer_that_reports_few_gap_ack_blocks_does_not_slow_the_faster_path() {
    let paths = [("100Mbit/s", "1ms", 1000), ("20Mbit/s", "15ms", 100)];
    let streams = "streams = 16\nper-stream-backlog = true";
    let goodput = saturated(&paths, "2MB", streams, WEBRTC).total.goodput;
    assert!(goodput > 0.99 * payload(120.0), "{goodput}, was 87.5e6");
}

#[test]
fn nor_does_one_where_windows_end_runs_and_packets_are_paced() {
    let near = ("50Mbit/s", "10ms", 100);
    for (paths, mbit, was) in [
        (vec![near, ("20Mbit/s", "60ms", 100)], 70.0, 35.5),
        (vec![near, ("20Mbit/s", "60ms", 20)], 70.0, 36.3),
        (vec![("20Mbit/s", "5ms", 50), ("50Mbit/s", "80ms", 200)], 70.0, 31.3),
    ] {
        let goodput = saturated(&paths, "4MB", "", LINUX).total.goodput;
        assert!(goodput > 0.96 * payload(mbit), "{paths:?}: {goodput}, was {was}e6");
    }
}

#[test]
fn small_messages_let_a_window_grow_where_one_sack_answers_many() {
    let paths = [("6Mbit/s", "1ms", 600), ("150Mbit/s", "5ms", 2000)];
    let goodput = saturated(&paths, "1MB", "message = '743B'", WEBRTC).total.goodput;
    assert!(goodput > 0.9 * payload(150.0), "{goodput}, was 16.9e6");
}

#[test]
fn a_window_that_was_full_grows_although_packets_are_paced() {
    let paths = "path.A = { rate = '154Mbit/s', delay = '90ms', queue = '1160packets' }
        path.B = { rate = '18.5Mbit/s', delay = '224ms', queue = '189packets' }";
    let goodput = over(paths, "27MB", "", WEBRTC, ["2500ms", "1s"]).total.goodput;
    assert!(goodput > 50e6, "{goodput}, was 8.8e6");
}

#[test]
fn a_path_that_carries_all_does_not_run_dry_between_sacks() {
    // Copies by the near path's way back are what is soonest, and are kept apart.
    let paths = [("160kbit/s", "38ms", 8), ("44Mbit/s", "164ms", 960)];
    let goodput = saturated(&paths, "2570kB", "streams = 10", "").total.goodput;
    assert!(goodput > 0.98 * payload(44.0), "{goodput}, was 38.4e6");
}

#[test]
fn packets_that_are_spread_do_not_wait_for_the_next_sack() {
    let paths =
        [("366kbit/s", "239us", 28), ("5.69Mbit/s", "11ms", 198), ("39.7Mbit/s", "52500us", 211)];
    let goodput = saturated(&paths, "269kB", "", "").total.goodput;
    assert!(goodput > 34e6, "{goodput}, was 11.2e6, and 20.6e6 by the last one alone");
}

#[test]
fn a_short_file_does_not_take_a_thin_path_that_looks_near() {
    let result = simulate(
        "[path.A]
         rate = '12Mbit/s'
         delay = '4ms'
         [path.B]
         rate = '270kbit/s'
         delay = '300us'
         [stack]
         profile = 'fast'
         [[flow]]
         app = 'file'
         size = '4kB'
         send-at = '2s'",
    );
    // Three packets need 7 ms on the wide path, and 134 on the near one.
    let latest = result.flows[0].total.delay.unwrap().max;
    assert!(latest < 10_000_000, "{latest} ns");
}

#[test]
fn retransmissions_do_not_wait_on_a_thin_path_that_is_near() {
    // The first one overflows its queue at the end of its slow start. All that was lost there went
    // on the last one, which needs 10 ms for a packet.
    let paths = "path.A = { rate = '386Mbit/s', delay = '18ms', queue = '116packets' }
        path.B = { rate = '192Mbit/s', delay = '4500us', queue = '17600packets' }
        path.C = { rate = '1.14Mbit/s', delay = '389us', queue = '48packets' }";
    let goodput = over(paths, "8MB", "", WEBRTC, ["1200ms", "500ms"]).total.goodput;
    assert!(goodput > 0.9 * payload(192.0), "{goodput}, was 60e6");
}

#[test]
fn what_was_on_a_path_that_fell_silent_is_not_copied_to_a_thin_one() {
    let paths = "path.A = { rate = '20Mbit/s', delay = '20ms', queue = '200packets' }
        path.B = { rate = '20Mbit/s', delay = '30ms', queue = '200packets' }
        path.C = { rate = '100kbit/s', delay = '400us', queue = '50packets' }
        at = [{ time = '5s', target = 'A', action = 'cut' }]";
    let goodput = over(paths, "2MB", "", "", ["4900ms", "1s"]).total.goodput;
    assert!(goodput > 0.9 * payload(20.0), "{goodput}, was 11.5e6");
}

#[test]
fn a_path_that_was_left_when_it_was_slow_is_used_again_when_it_is_fast() {
    let paths = "path.A = { rate = '20Mbit/s', delay = '9ms', queue = '50packets' }
        path.B = { rate = '100Mbit/s', delay = '2ms', queue = '1000packets' }
        at = [
            { time = '3s', target = 'B', rate = '2Mbit/s' },
            { time = '4s', target = 'B', rate = '100Mbit/s' },
        ]";
    // Two seconds later at most.
    let goodput = over(paths, "64kB", "", "", ["6s", "4s"]).total.goodput;
    assert!(goodput > 0.99 * payload(100.0), "{goodput}, was 18e6");
}
