//! The path that carries all data goes away, in one direction or in both, while the other one is
//! idle: the application waits a few round trips, not for T3-rtx and its back-off.

use polypath_run::{Recording, run};
use polypath_scenario::{Scenario, Source};

/// Which direction is cut, and for how long nothing may be delivered, s: two probe timeouts of the
/// near path, and the copies' way along the far one. Where SACKs are lost, what the copies tell
/// comes a round trip later. Where they alone are, data goes on to arrive, until the buffer is
/// full of what is not known to have: T3-rtx can come first, and once more.
const CUTS: [(&str, f64); 3] =
    [("direction = 'forward'", 0.1), ("", 0.15), ("direction = 'reverse'", 0.4)];

/// 100 Mbit/s at 5 ms, which one buffer fills, and 20 Mbit/s at 30 ms. The near path is cut at `at`
/// for three seconds.
fn scenario(at: f64, direction: &str) -> Scenario {
    let text = format!(
        "[path.near]
        rate = '100Mbit/s'
        delay = '5ms'
        queue = '200packets'
        [path.far]
        rate = '20Mbit/s'
        delay = '30ms'
        queue = '100packets'
        [[at]]
        time = '{at:.4}s'
        target = 'near'
        action = 'cut'
        {direction}
        [[at]]
        time = '{:.4}s'
        target = 'near'
        action = 'restore'
        {direction}
        [stack]
        profile = 'fast'
        send-buffer = '200kB'
        receive-buffer = '200kB'
        [[flow]]
        app = 'saturated'
        [time]
        settle = '2s'
        measure = '7s'
        sample = '5ms'",
        at + 3.0
    );
    Source::new("outage", &text).unwrap().parse_scenario().unwrap_or_else(|error| panic!("{error}"))
}

/// The longest time without a delivery from `at` on, and what was delivered in the third second of
/// the outage and in the second after it, bytes.
fn outage(at: f64, direction: &str) -> (f64, f64, f64) {
    let result = run(&scenario(at, direction), 1, Recording::default(), &mut |_| ()).unwrap();
    let samples = result.flows[0].samples.iter().map(|s| (s.at as f64 / 1e9, s.delivered as f64));
    let after: Vec<_> = samples.skip_while(|(time, _)| *time < at).collect();
    let (mut longest, mut since) = (0.0_f64, after[0]);
    for &(time, delivered) in after.iter().take_while(|(time, _)| *time < at + 3.0) {
        if delivered > since.1 {
            since = (time, delivered);
        }
        longest = longest.max(time - since.0);
    }
    let by = |time: f64| after.iter().take_while(|s| s.0 <= time).last().unwrap().1;
    let second = |from: f64| by(from + 1.0) - by(from);
    (longest, second(at + 2.0), second(at + 4.0))
}

#[test]
fn the_idle_path_takes_over_before_a_timeout_and_gives_way_again() {
    for (direction, longest) in CUTS {
        for step in 0..8 {
            let at = 3.0 + f64::from(step) * 0.0137;
            let (wait, meanwhile, afterwards) = outage(at, direction);
            let case = format!("{direction} at {at:.4} s");
            assert!(wait <= longest, "{case}: {wait:.3} s");
            assert!(meanwhile * 8e-6 > 15.0, "{case}: {meanwhile} bytes");
            assert!(afterwards * 8e-6 > 80.0, "{case}: {afterwards} bytes");
        }
    }
}
