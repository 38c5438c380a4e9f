//! The order in which paths are named, and when a transfer starts, change next to nothing without losses.

use polypath_lab::scenario::Source;
use polypath_lab::world::world_spec;

/// Rate (Mbit/s) and one-way delay (ms) of each path: S0's figures 4 and 7, S2, S4's experiment 2.
const SETUPS: [&[(u32, u32)]; 4] = [
    &[(10, 10), (10, 75)],
    &[(10, 10), (10, 10), (1, 50)],
    &[(10, 60), (10, 120), (10, 180), (10, 240)],
    &[(2, 60), (5, 60), (10, 60), (20, 60)],
];

/// Payload bits per second of one saturated stream over the paths in this order.
fn goodput(paths: &[(u32, u32)], order: &[usize], start: &str, unordered: bool) -> f64 {
    let links = paths.iter().enumerate().map(|(n, (rate, delay))| {
        format!(
            "path.P{n} = {{ rate = '{rate}Mbit/s', delay = '{delay}ms', queue = '100packets' }}\n"
        )
    });
    let names: Vec<_> = order.iter().map(|n| format!("'P{n}'")).collect();
    let text = format!(
        "{}[stack]\nprofile = 'fast'\nsend-buffer = '128KiB'\nreceive-buffer = '128KiB'\n\
         [[flow]]\napp = 'saturated'\nunordered = {unordered}\npaths = [{}]\nsend-at = '{start}'\n\
         [time]\nsettle = '15s'\nmeasure = '10s'\n",
        links.collect::<String>(),
        names.join(", "),
    );
    let scenario =
        Source::new("order", &text).expect("it is TOML").scenario().expect("it is sound");
    let spec = world_spec(&scenario, false).expect("a world");
    let result = polypath_sim::run(&spec, 1, None).expect("it runs");
    let flow = result.flows.first().expect("one flow");
    assert!(flow.integrity.holds());
    flow.total.goodput
}

#[test]
fn path_order_and_start_times_change_goodput_by_less_than_2_percent() {
    for paths in SETUPS {
        for unordered in [false, true] {
            let forward: Vec<usize> = (0..paths.len()).collect();
            let backward: Vec<usize> = forward.iter().rev().copied().collect();
            let mut rotated = forward.clone();
            rotated.rotate_left(1);
            let runs = [
                (&forward, "1s"),
                (&backward, "1s"),
                (&rotated, "1s"),
                (&forward, "1013ms"),
                (&forward, "1370ms"),
            ];
            let all = runs.map(|(order, start)| goodput(paths, order, start, unordered));
            let (least, most) = (
                all.iter().copied().fold(f64::MAX, f64::min),
                all.iter().copied().fold(0.0, f64::max),
            );
            assert!(most < 1.02 * least, "{paths:?}, unordered {unordered}: {all:?}");
        }
    }
}
