//! What the defaults of profile `fast` promise: never slower than the best path, what the buffers
//! admit, and little delay for those who declare that they need it.

use polypath_run::{Recording, run};
use polypath_scenario::Source;
use polypath_sim::results::FlowResult;

/// Rates in Mbit/s and one-way delays in ms: S0's figures 4 and 7.
const DISSIMILAR: &[(u32, u32)] = &[(10, 10), (10, 75)];
const THREE: &[(u32, u32)] = &[(10, 10), (10, 10), (1, 50)];

fn simulate(paths: &[(u32, u32)], kib: u32, flow: &str) -> FlowResult {
    let mut text = String::new();
    for (i, (rate, delay)) in paths.iter().enumerate() {
        text.push_str(&format!("[path.P{i}]\nrate = '{rate}Mbit/s'\ndelay = '{delay}ms'\n"));
    }
    text.push_str("[stack]\nprofile = 'fast'\n");
    text.push_str(&format!("send-buffer = '{kib}KiB'\nreceive-buffer = '{kib}KiB'\n"));
    text.push_str(&format!("[[flow]]\napp = 'saturated'\n{flow}\n"));
    text.push_str("[time]\nsettle = '10s'\nmeasure = '15s'");
    let source = Source::new("fast", &text).unwrap();
    let scenario = source.parse_scenario().unwrap_or_else(|error| panic!("{error}"));
    let flow = run(&scenario, 1, Recording::default(), &mut |_| ()).unwrap().flows.remove(0);
    assert!(flow.integrity.holds());
    flow
}

fn mbit(flow: &FlowResult) -> f64 {
    flow.total.goodput / 1e6
}

#[test]
fn an_ordered_stream_leaves_a_path_that_would_hold_it_up() {
    // 10 Mbit/s alone carry 9.68; with both, 64 KiB are held for 86 ms: 6.2.
    assert!(mbit(&simulate(DISSIMILAR, 64, "")) > 9.6);
    // 256 KiB are enough for both: 19.36.
    assert!(mbit(&simulate(DISSIMILAR, 256, "")) > 19.1);
}

#[test]
fn streams_that_wait_for_each_other_are_not_spread() {
    // Filled in turn, both get the rate of the slower one, whose unsent data fills the buffer: the
    // fast path alone is best.
    assert!(mbit(&simulate(DISSIMILAR, 128, "streams = 2")) > 9.6);
}

#[test]
fn a_stream_of_low_delay_does_not_wait_behind_the_others() {
    let beside =
        "beside = [{ message = '100B', every = '20ms', needs = { service = 'low-delay' } }]";
    let flow = simulate(THREE, 64, &format!("streams = 6\nper-stream-backlog = true\n{beside}"));
    let p99 = flow.streams[6].delay.unwrap().p99 as f64 / 1e6;
    // One way takes 10 ms and a packet's time; three of them may be before it.
    assert!(p99 < 16.0, "{p99} ms");
    assert!(mbit(&flow) > 18.0, "{}", mbit(&flow));
}
