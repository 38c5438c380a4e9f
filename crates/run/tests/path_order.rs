//! The order in which paths are named, and when a transfer starts, change next to nothing without
//! losses, and nothing beyond chance with them.

use polypath_run::world_spec;
use polypath_scenario::Source;

/// Rate (Mbit/s), one-way delay (ms) and losses (per cent) of each path.
type Paths = &'static [(u32, u32, u32)];

/// S0's figures 4 and 7, S2, S4's experiment 2.
const SETUPS: [Paths; 4] = [
    &[(10, 10, 0), (10, 75, 0)],
    &[(10, 10, 0), (10, 10, 0), (1, 50, 0)],
    &[(10, 60, 0), (10, 120, 0), (10, 180, 0), (10, 240, 0)],
    &[(2, 60, 0), (5, 60, 0), (10, 60, 0), (20, 60, 0)],
];

/// One saturated stream.
struct Run<'a> {
    paths: Paths,
    /// Places in `paths`, in the order in which the flow names them.
    order: &'a [usize],
    start: &'a str,
    unordered: bool,
    seed: u64,
}

impl Run<'_> {
    fn text(&self) -> String {
        let Run { paths, order, start, unordered, .. } = self;
        let link = |(n, (rate, delay, loss)): (usize, &(u32, u32, u32))| {
            format!(
                "path.P{n} = {{ rate = '{rate}Mbit/s', delay = '{delay}ms', loss = '{loss}%', queue = '100packets' }}\n"
            )
        };
        let links: String = paths.iter().enumerate().map(link).collect();
        let names: Vec<_> = order.iter().map(|n| format!("'P{n}'")).collect();
        format!(
            "{links}[stack]\nprofile = 'fast'\nsend-buffer = '128KiB'\nreceive-buffer = '128KiB'\n\
             [[flow]]\napp = 'saturated'\nunordered = {unordered}\npaths = [{}]\nsend-at = '{start}'\n\
             [time]\nsettle = '12s'\nmeasure = '8s'\n",
            names.join(", "),
        )
    }

    /// Payload bits per second.
    fn goodput(&self) -> f64 {
        let source = Source::new("order", self.text()).expect("it is TOML");
        let scenario = source.parse_scenario().expect("it is sound");
        let spec = world_spec(&scenario, false).expect("a world");
        let result = polypath_sim::run(&spec, self.seed, None).expect("it runs");
        let flow = result.flows.first().expect("one flow");
        assert!(flow.integrity.holds());
        flow.total.goodput
    }
}

#[test]
fn without_losses_goodput_changes_by_less_than_2_percent() {
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
            let all = runs
                .map(|(order, start)| Run { paths, order, start, unordered, seed: 1 }.goodput());
            let (least, most) = (
                all.iter().copied().fold(f64::MAX, f64::min),
                all.iter().copied().fold(0.0, f64::max),
            );
            assert!(most < 1.02 * least, "{paths:?}, unordered {unordered}: {all:?}");
        }
    }
}

#[test]
fn with_losses_means_change_by_less_than_their_interval() {
    const SEEDS: u64 = 8;
    /// Student's t, 97.5 %, 14 degrees of freedom.
    const T: f64 = 2.145;
    let moments = |order: &[usize], start: &str, first: u64, unordered: bool| {
        let paths: Paths = &[(10, 20, 1), (10, 50, 2)];
        let run = |seed| Run { paths, order, start, unordered, seed }.goodput();
        let all: Vec<_> = (first..first + SEEDS).map(run).collect();
        let mean = all.iter().sum::<f64>() / SEEDS as f64;
        let squares = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        (mean, squares / (SEEDS - 1) as f64 / SEEDS as f64)
    };
    for unordered in [false, true] {
        let (mean, variance) = moments(&[0, 1], "1s", 1, unordered);
        for (order, start) in [([1, 0], "1s"), ([0, 1], "1370ms")] {
            let (other, of_other) = moments(&order, start, 1 + SEEDS, unordered);
            let interval = T * (variance + of_other).sqrt();
            assert!(
                (other - mean).abs() < interval,
                "unordered {unordered}, {order:?} at {start}: {mean} or {other}, +- {interval}"
            );
        }
    }
}
