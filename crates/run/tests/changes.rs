//! Changing networks: schedules that repeat, and delivery traces.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use polypath_link::Change;
use polypath_run::{Recording, run, world_spec};
use polypath_scenario::{Scenario, Source};

const PATHS: &str = r#"
[path.A]
rate = "10Mbit/s"
delay = "10ms"
[path.B]
rate = "10Mbit/s"
delay = "10ms"
[stack]
profile = "fast"
[[flow]]
app = "saturated"
[time]
settle = "2s"
measure = "10s"
"#;

/// Four packets in 10 ms.
const FINE: &str = include_str!("../../scenario/tests/data/fine.trace");

fn scenario(text: &str) -> Scenario {
    let files: BTreeMap<PathBuf, String> = [("fine.trace".into(), FINE.to_owned())].into();
    let source = Source::with_files("scenario.toml", text, Arc::new(files));
    let source = source.unwrap_or_else(|error| panic!("{error}"));
    source.parse_scenario().unwrap_or_else(|error| panic!("{error}"))
}

/// Mbit/s of the first flow, and of each link that carries data.
fn rates(scenario: &Scenario, seed: u64) -> (f64, Vec<f64>) {
    let result = run(scenario, seed, Recording::default(), &mut |_| ()).unwrap();
    let seconds = result.measured as f64 / 1e9;
    let link =
        |link: &polypath_sim::results::LinkResult| link.delivered_bytes as f64 * 8e-6 / seconds;
    let forward = result.links.iter().filter(|link| link.name.ends_with(".forward"));
    (result.flows[0].total.goodput / 1e6, forward.map(link).collect())
}

fn schedule(text: &str, link: &str, seed: u64) -> Vec<(u64, Change)> {
    world_spec(&scenario(text), false).unwrap().link_schedule(link, seed)
}

const EVERY: &str = r#"
[[every]]
period = "5s"
target = "B"
rate = "1Mbit/s..20Mbit/s"
delay = ["5ms", "50ms"]
"#;

#[test]
fn both_directions_change_alike_and_other_schedules_do_not_matter() {
    let text = format!("{PATHS}{EVERY}");
    let drawn = schedule(&text, "B.forward", 7);
    assert_eq!(drawn, schedule(&text, "B.reverse", 7));
    assert_ne!(drawn, schedule(&text, "B.forward", 8));
    // 0, 5 and 10 s of 12, a rate and a delay each.
    assert_eq!(drawn.len(), 6);
    let delays: Vec<_> = drawn.iter().filter(|(_, c)| matches!(c, Change::Delay(_))).collect();
    let expected = [(0, 5), (5, 50), (10, 5)]
        .map(|(s, ms)| (s * 1_000_000_000, Change::Delay(ms * 1_000_000)));
    assert!(delays.into_iter().eq(&expected));
    let more = format!("{PATHS}{}{EVERY}", EVERY.replace("\"B\"", "\"A\""));
    assert_eq!(drawn, schedule(&more, "B.forward", 7));
    assert_ne!(drawn, schedule(&more, "A.forward", 7));
}

#[test]
fn what_is_set_by_hand_has_the_last_word() {
    let at = "[[at]]\ntime = \"5s\"\ntarget = \"B\"\nrate = \"3Mbit/s\"\n";
    let drawn = schedule(&format!("{PATHS}{at}{EVERY}"), "B.forward", 1);
    let of_five: Vec<_> = drawn.iter().filter(|(at, _)| *at == 5_000_000_000).collect();
    assert_eq!(of_five.len(), 3);
    assert_eq!(of_five[2].1, Change::Rate(Some(3_000_000)));
}

#[test]
fn a_link_carries_the_mean_of_its_rates() {
    // 2 and 8 Mbit/s for a second each: 5 on average; the headers take 48 of 1500 bytes.
    let every = "[[every]]\nperiod = \"1s\"\ntarget = \"B\"\nrate = [\"2Mbit/s\", \"8Mbit/s\"]\n";
    let (_, links) = rates(&scenario(&format!("{PATHS}{every}")), 1);
    assert!((9.8..10.01).contains(&links[0]), "{links:?}");
    assert!((4.5..5.01).contains(&links[1]), "{links:?}");
}

#[test]
fn a_trace_gives_its_own_rate_and_a_rate_beside_it_only_where_there_is_none() {
    // Four packets of 1500 bytes in 10 ms: 4.8 Mbit/s.
    let traced = PATHS.replacen("rate = \"10Mbit/s\"", "trace = \"fine.trace\"", 1);
    let (_, links) = rates(&scenario(&traced), 1);
    assert!((4.7..4.81).contains(&links[0]), "{links:?}");
    let reverse = PATHS.replacen("delay", "reverse.trace = \"fine.trace\"\ndelay", 1);
    let (_, links) = rates(&scenario(&reverse), 1);
    assert!((9.8..10.01).contains(&links[0]), "{links:?}");
    // An [[at]] with a rate ends the trace.
    let at = "[[at]]\ntime = \"2s\"\ntarget = \"A\"\nrate = \"2Mbit/s\"\n";
    let (_, links) = rates(&scenario(&format!("{traced}{at}")), 1);
    assert!((1.9..2.01).contains(&links[0]), "{links:?}");
}

#[test]
fn a_way_back_that_is_late_leaves_no_queue_on_the_ways_forth() {
    // SACKs of both paths take that way, and wait for up to 5 ms. A round trip is 21.6 ms without a
    // queue.
    let reverse = PATHS.replacen("delay", "reverse.trace = \"fine.trace\"\ndelay", 1);
    let result = run(&scenario(&reverse), 1, Recording::default(), &mut |_| ()).unwrap();
    let trips: Vec<_> = result.flows[0].paths.iter().filter_map(|path| path.srtt).collect();
    assert!(trips.len() == 2 && trips.iter().all(|ns| *ns < 30_000_000), "{trips:?}");
}

#[test]
fn a_queue_may_be_a_time() {
    // 10 Mbit/s for 200 ms are 250 kB.
    let text = PATHS.replacen("delay", "queue = \"200ms\"\ndelay", 1);
    let spec = world_spec(&scenario(&text), false).unwrap();
    let queue = &spec.topology.links[0].config.queue;
    assert_eq!(*queue, polypath_link::Queue::DropTailBytes(250_000));
}

#[test]
fn cross_traffic_takes_its_share_and_leaves_other_draws_alone() {
    let lossy = PATHS.replacen("delay", "loss = \"1%\"\ndelay", 1);
    let cross = "[[cross]]\nlink = \"B\"\nrate = \"4Mbit/s\"\nspacing = \"even\"\n";
    let result = run(&scenario(&format!("{lossy}{cross}")), 1, Recording::default(), &mut |_| ());
    let result = result.unwrap();
    let source = &result.cross[0];
    assert_eq!(source.name, "B.forward");
    // 1500 bytes at 4 Mbit/s: one every 3 ms, 3334 in 10 s at most.
    assert!((3_333..=3_334).contains(&source.sent), "{source:?}");
    assert!(source.delivered > 3_000, "{source:?}");
    let b = result.links.iter().find(|link| link.name == "B.forward").unwrap();
    let flow: u64 = result.flows[0].paths[1].payload_bytes;
    let carried = b.delivered_bytes.saturating_sub(source.delivered_bytes);
    // The rest are our packets: payload, 48 bytes of headers with every 1452, retransmissions.
    assert!((0.95..1.02).contains(&(flow as f64 * 1500.0 / 1452.0 / carried as f64)), "{carried}");
    // Path A has its own draws: the same share of its packets is lost.
    let without = run(&scenario(&lossy), 1, Recording::default(), &mut |_| ()).unwrap();
    let lost = |r: &polypath_sim::RunResult| r.links[0].lost as f64 / r.links[0].offered as f64;
    assert!((lost(&without) - lost(&result)).abs() < 0.003);
}
