//! SACKs of profile `fast`: fewer where they queue on the way back, and only there.

use polypath_run::{Recording, run};
use polypath_scenario::Source;
use polypath_sim::results::RunResult;

/// Runs one ordered stream over these paths for 16 s, the second half of it measured.
fn simulate(paths: &str) -> RunResult {
    let text = format!(
        "{paths}
         [stack]
         profile = 'fast'
         [[flow]]
         app = 'saturated'
         [time]
         settle = '8s'
         measure = '8s'"
    );
    let scenario = Source::new("way back", text).unwrap().parse_scenario().unwrap();
    run(&scenario, 1, Recording::default(), &mut |_| ()).unwrap()
}

/// Packets that the links of this direction delivered.
fn packets(result: &RunResult, direction: &str) -> f64 {
    let links = result.links.iter().filter(|link| link.name.ends_with(direction));
    links.map(|link| link.delivered).sum::<u64>() as f64
}

/// Packets that go back for each that came.
fn sacks_per_packet(result: &RunResult) -> f64 {
    packets(result, ".reverse") / packets(result, ".forward")
}

#[test]
fn without_a_queue_a_sack_answers_every_second_packet() {
    let result = simulate("[path.A]\nrate = '20Mbit/s'\ndelay = '9ms'");
    assert!((0.49..0.52).contains(&sacks_per_packet(&result)), "{}", sacks_per_packet(&result));
}

#[test]
fn lines_with_thin_ways_back_are_full() {
    // SACKs for every second packet would need 0.49 Mbit/s of 0.5.
    let result = simulate(
        "[path.A]
         delay = '9ms'
         forward.rate = '20Mbit/s'
         reverse.rate = '500kbit/s'
         [path.B]
         delay = '14ms'
         forward.rate = '10Mbit/s'
         reverse.rate = '800kbit/s'",
    );
    let full = 30e6 * 1452.0 / 1500.0;
    let goodput = result.flows[0].total.goodput;
    assert!(goodput > 0.98 * full, "{goodput}");
    assert!(sacks_per_packet(&result) < 0.25, "{}", sacks_per_packet(&result));
}

#[test]
fn delays_that_vary_are_no_queue_of_sacks() {
    // Up to 4 ms more, both ways: as much as a queue, and as much without SACKs.
    let result = simulate("[path.A]\nrate = '20Mbit/s'\ndelay = '9ms'\njitter = '4ms'");
    assert!(sacks_per_packet(&result) > 0.4, "{}", sacks_per_packet(&result));
}

#[test]
fn copies_of_sacks_do_not_choke_a_thin_near_path() {
    // It is too slow for the data, so each SACK of the wide path would be copied to it: 215 kbit/s.
    let result = simulate(
        "[path.A]
         rate = '60Mbit/s'
         delay = '80ms'
         queue = '1000packets'
         [path.B]
         rate = '150kbit/s'
         delay = '2ms'",
    );
    let goodput = result.flows[0].total.goodput;
    assert!(goodput > 0.85 * 58.1e6, "{goodput}, and 8.0e6 with every SACK copied");
    let delivered =
        |name: &str| result.links.iter().find(|link| link.name == name).unwrap().delivered;
    assert!(5 * delivered("B.reverse") < 2 * delivered("A.reverse"), "copies");
}
