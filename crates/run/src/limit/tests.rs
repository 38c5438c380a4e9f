//! Limits of scenarios, against figures worked by hand and against other ways to find them.

use polypath_scenario::Source;
use proptest::prelude::*;

use super::bound::{compute_bounds, fill_knapsack};
use super::model::Path;
use super::program::{self, Flow};
use super::{Limits, NoLimit, SackRoute, WorldLimits, of_world};
use crate::world::world_spec;

/// A scenario of paths (Mbit/s, ms) and one saturated flow, with more on top.
fn scenario(paths: &[(u32, u32)], kib: u32, more: &str) -> WorldLimits {
    let path = |(n, (rate, delay)): (usize, &(u32, u32))| {
        format!("path.P{n}.rate = '{rate}Mbit/s'\npath.P{n}.delay = '{delay}ms'\n")
    };
    let paths: String = paths.iter().enumerate().map(path).collect();
    world(&format!(
        "{paths}stack.send-buffer = '{kib}KiB'\nstack.receive-buffer = '{kib}KiB'\n{more}\n"
    ))
}

fn world(text: &str) -> WorldLimits {
    let text =
        format!("{text}\n[[flow]]\napp = 'saturated'\n[time]\nsettle = '5s'\nmeasure = '10s'\n");
    let scenario = Source::new("test", text).unwrap().parse_scenario().unwrap();
    of_world(&world_spec(&scenario, false).unwrap(), 1)
}

fn only(limits: WorldLimits) -> Result<Limits, NoLimit> {
    limits.flows.into_iter().next().unwrap()
}

const FASTEST: &str = "stack.sack-path = 'smallest-srtt'";

/// Free and ordered limit in Mbit/s, as tables print them.
fn pair(paths: &[(u32, u32)], kib: u32, more: &str) -> String {
    let found = only(scenario(paths, kib, more)).unwrap();
    format!("{:.2} / {:.2}", found.free / 1e6, found.ordered / 1e6)
}

/// Paths, and their limits for 64, 128, 192 and 256 KiB.
type Row<'a> = (&'a [(u32, u32)], [&'a str; 4]);

#[test]
fn the_limits_of_the_papers_set_ups() {
    let four = [(10, 60), (10, 120), (10, 180), (10, 240)];
    let table: [Row<'_>; 6] = [
        (
            &[(10, 10), (10, 75)],
            ["13.35 / 9.68", "19.36 / 12.12", "19.36 / 18.18", "19.36 / 19.36"],
        ),
        (
            &[(10, 10), (50, 10)],
            ["25.76 / 25.76", "51.37 / 49.19", "58.08 / 58.08", "58.08 / 58.08"],
        ),
        (
            &[(10, 10), (10, 10), (1, 50)],
            ["20.33 / 19.36", "20.33 / 19.36", "20.33 / 20.33", "20.33 / 20.33"],
        ),
        (&four, ["4.31 / 4.31", "8.62 / 8.62", "11.86 / 9.68", "14.74 / 11.54"]),
        (
            &[(2, 60), (5, 60), (10, 60), (20, 60)],
            ["4.32 / 4.32", "8.65 / 8.65", "12.97 / 12.97", "17.30 / 17.30"],
        ),
        (
            &[(20, 10), (20, 100)],
            ["20.48 / 19.36", "25.20 / 19.36", "29.93 / 19.36", "34.65 / 19.36"],
        ),
    ];
    for (paths, row) in table {
        for (kib, wanted) in [64, 128, 192, 256].into_iter().zip(row) {
            assert_eq!(pair(paths, kib, FASTEST), wanted, "{paths:?}, {kib} KiB");
        }
    }
}

/// The sizes from which on the free limit is the sum of the rates.
#[test]
fn the_free_limit_is_full_from_the_summed_bandwidth_delay_products_on() {
    for (paths, kib) in [
        (&[(10, 10), (10, 75)][..], 128),
        (&[(10, 10), (50, 10)], 147),
        (&[(10, 10), (10, 10), (1, 50)], 60),
        (&[(10, 60), (10, 120), (10, 180), (10, 240)], 1000),
        (&[(2, 60), (5, 60), (10, 60), (20, 60)], 532),
        (&[(20, 10), (20, 100)], 311),
    ] {
        let sum = paths.iter().map(|(rate, _)| f64::from(*rate)).sum::<f64>() * 0.968e6;
        let free = |kib| only(scenario(paths, kib, FASTEST)).unwrap().free;
        assert!(free(kib - 4) < sum - 1.0, "{paths:?}");
        assert!(free(kib + 2) > sum - 1.0, "{paths:?}");
    }
}

#[test]
fn sacks_on_the_path_of_their_data_make_hold_times_longer() {
    assert_eq!(pair(&[(10, 10), (10, 75)], 128, ""), "15.23 / 9.68");
    assert_eq!(pair(&[(20, 10), (20, 100)], 256, ""), "27.79 / 19.36");
    let first = only(scenario(&[(10, 10), (10, 75)], 128, "stack.sack-path = 'primary'")).unwrap();
    let fastest = only(scenario(&[(10, 10), (10, 75)], 128, FASTEST)).unwrap();
    assert_eq!(first.sack_route, SackRoute::Primary);
    assert_eq!((first.free, first.ordered), (fastest.free, fastest.ordered));
    let slow = only(scenario(&[(10, 75), (10, 10)], 128, "stack.sack-path = 'primary'")).unwrap();
    assert!(slow.free < fastest.free);
}

#[test]
fn the_best_path_alone_has_its_sacks_on_itself() {
    // 64 KiB hold 45 messages, 522,720 bits, for 200 + 0.6 + 0.0272 ms: 2.606 Mbit/s; 20 ms admit
    // more than the 1 Mbit/s.
    let paths = [(1, 10), (20, 100)];
    let found = only(scenario(&paths, 64, FASTEST)).unwrap();
    assert_eq!((found.best.as_str(), found.best_path.round()), ("P1", 2_605_429.0));
    assert_eq!(found.buffer, 65_340.0);
}

#[test]
fn the_smaller_buffer_counts_and_so_do_charges() {
    let free = |more: &str| {
        let more = format!("{FASTEST}\n{more}");
        only(scenario(&[(10, 10), (10, 75)], 64, &more)).unwrap()
    };
    assert_eq!(free("stack.receiver.receive-buffer = '1MiB'").buffer, 65_340.0);
    assert_eq!(free("stack.sender.send-buffer = 'unlimited'").buffer, 65_340.0);
    // 65,536 / (1452 + 256) = 38.4.
    assert_eq!(free("stack.chunk-charge = '256B'").buffer, 38.0 * 1452.0);
}

#[test]
fn headers_of_ipv6_and_udp_take_their_part() {
    let rate = |more: &str| only(scenario(&[(10, 10)], 512, more)).unwrap().free.round();
    assert_eq!(rate(""), 9_680_000.0);
    // 1452 = 1432 + 20: packets of 1500 and 88 bytes.
    assert_eq!(rate("endpoints.family = 'ipv6'"), (1e7 * 1452.0 / 1588.0_f64).round());
    // 1452 = 1444 + 8: packets of 1500 and 64 bytes.
    assert_eq!(rate("endpoints.encapsulation = 'udp'"), (1e7 * 1452.0 / 1564.0_f64).round());
}

#[test]
fn a_common_link_bounds_the_paths_over_it() {
    let text = "
        link.access-A = { rate = '8Mbit/s', delay = '10ms' }
        link.access-B = { rate = '8Mbit/s', delay = '50ms' }
        link.core = { rate = '10Mbit/s', delay = '5ms' }
        route.A.links = ['access-A', 'core']
        route.B.links = ['access-B', 'core']
        stack = { sack-path = 'smallest-srtt', receive-buffer = '1MiB', send-buffer = '1MiB' }";
    let found = only(world(text)).unwrap();
    assert_eq!((found.free.round(), found.ordered.round()), (9_680_000.0, 9_680_000.0));
    assert_eq!(found.best_path.round(), 7_744_000.0);
}

#[test]
fn flows_that_share_a_path_have_a_joint_limit() {
    let flow = "[[flow]]\napp = 'saturated'\npaths = ['P0']";
    let limits = scenario(&[(10, 10), (10, 10)], 512, flow);
    let alone: Vec<f64> = limits.flows.iter().map(|l| l.as_ref().unwrap().free.round()).collect();
    assert_eq!(alone, [9_680_000.0, 19_360_000.0]);
    assert_eq!(limits.joint.unwrap().unwrap().round(), 19_360_000.0);
}

#[test]
fn changes_are_integrated_over_the_measuring_time() {
    // Measured from 5 to 15 s. Path P1 is away for 5 s and has 5 Mbit/s for 2 s.
    let at = "
        at = [
            { time = '2s', target = 'P0', rate = '20Mbit/s' },
            { time = '4s', target = 'P1', action = 'cut' },
            { time = '10s', target = 'P1', action = 'restore' },
            { time = '13s', target = 'P1', rate = '5Mbit/s' },
        ]";
    let found = only(scenario(&[(10, 10), (10, 10)], 512, at)).unwrap();
    let mean = 20.0 + (3.0 * 10.0 + 2.0 * 5.0) / 10.0;
    assert!((found.free - 0.968e6 * mean).abs() < 1.0, "{}", found.free);
    assert!((found.ordered - 0.968e6 * mean).abs() < 1.0);
    assert_eq!((found.best.as_str(), found.best_path.round()), ("P0", 19_360_000.0));
}

#[test]
fn repeating_changes_are_those_of_the_seed() {
    // From 5 to 15 s a second each of 10, 20, 10, ... Mbit/s.
    let turn = "every = [{ period = '1s', target = 'P0', rate = ['20Mbit/s', '10Mbit/s'] }]";
    let found = only(scenario(&[(10, 10)], 512, turn)).unwrap();
    assert!((found.free - 0.968e6 * 15.0).abs() < 1.0, "{}", found.free);
    let drawn = "every = [{ period = '1s', target = 'P0', rate = '5Mbit/s..20Mbit/s' }]";
    let text = format!(
        "path.P0 = {{ rate = '10Mbit/s' }}\n{drawn}\n[[flow]]\napp = 'saturated'\n\
         [time]\nsettle = '5s'\nmeasure = '10s'\n"
    );
    let scenario = Source::new("test", text).unwrap().parse_scenario().unwrap();
    let spec = world_spec(&scenario, false).unwrap();
    let link = &spec.topology.links[0].name;
    for seed in [1, 2] {
        let rates =
            spec.link_schedule(link, seed).into_iter().filter_map(|(at, change)| match change {
                polypath_link::Change::Rate(rate) if at >= 5_000_000_000 => rate,
                _ => None,
            });
        let mean = rates.map(|rate| rate as f64).sum::<f64>() / 10.0;
        let found = only(of_world(&spec, seed)).unwrap();
        assert!((found.free - 0.968 * mean).abs() < 1.0, "{} {mean}", found.free);
    }
    let lossy = "every = [{ period = '1s', target = 'P0', loss = '1%..2%' }]";
    let lossy = only(self::scenario(&[(10, 10)], 512, lossy)).unwrap_err();
    assert_eq!(lossy, NoLimit::Lossy("P0".into()));
}

#[test]
fn a_flow_that_begins_late_has_less() {
    let text = "path.A = { rate = '10Mbit/s', delay = '10ms' }
        [[flow]]\napp = 'saturated'\nstart = '10s'\nname = 'late'";
    let limits = world(text);
    assert_eq!(limits.flows[0].as_ref().unwrap().free.round(), 4_840_000.0);
    assert_eq!(limits.joint.unwrap().unwrap().round(), 9_680_000.0);
}

#[test]
fn where_there_is_no_limit_the_reason_is_given() {
    let reason =
        |more: &str| only(scenario(&[(10, 10), (10, 10)], 64, more)).unwrap_err().to_string();
    let lossy = "path P1 loses packets; compare with a run of the best path alone";
    assert_eq!(reason("path.P1.loss = '1%'"), lossy);
    assert_eq!(reason("path.P1.reverse.loss = '1%'"), lossy);
    assert_eq!(reason("at = [{ time = '1s', target = 'P1', loss = '1%' }]"), lossy);
    assert_eq!(reason("path.P1.lose = [7]"), lossy);
    assert!(only(scenario(&[(10, 10)], 64, "path.P0.loss = '0%'")).is_ok());
    let told = reason("at = [{ time = '1s', target = 'P1', admin = 'disabled' }]");
    assert_eq!(told, "flow saturated is told to avoid paths or to close");
    let free = "path.A.delay = '10ms'";
    assert_eq!(only(world(free)).unwrap_err(), NoLimit::NoRate("A".into()));
    let file = "[[flow]]\napp = 'file'\nsize = '1MB'";
    let file = only(scenario(&[(10, 10)], 64, file)).unwrap_err();
    assert_eq!(file.to_string(), "flow file does not always have something to send");
    let slow = "[[flow]]\napp = 'saturated'\nread-rate = '1Mbit/s'";
    assert!(matches!(only(scenario(&[(10, 10)], 64, slow)), Err(NoLimit::SlowReader(_))));
}

/// Paths over these links, each with its rate.
fn over(links: &[(usize, f64)], hold: f64) -> Path {
    Path { hold, own_hold: hold, links: links.to_vec() }
}

/// The greatest x + y under rows a x + b y <= c and x, y >= 0: at one of the corners.
fn corner(rows: &[[f64; 3]]) -> f64 {
    let rows: Vec<[f64; 3]> =
        rows.iter().copied().chain([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]).collect();
    let fits = |x: f64, y: f64| rows.iter().all(|[a, b, c]| a * x + b * y <= c + 1e-9);
    let mut best: f64 = f64::NEG_INFINITY;
    for [a, b, c] in &rows {
        for [d, e, f] in &rows {
            let det = a * e - b * d;
            let (x, y) = ((c * e - b * f) / det, (a * f - c * d) / det);
            if det.abs() > 1e-12 && fits(x, y) {
                best = best.max(x + y);
            }
        }
    }
    best
}

/// The greatest of a concave function between two ends.
fn peak(of: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..200 {
        let (one, two) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if of(one) < of(two) { low = one } else { high = two }
    }
    of(0.5 * (low + high))
}

const MBIT: std::ops::Range<f64> = 0.5..50.0;
const HOLD: std::ops::Range<f64> = 0.001..0.5;

proptest! {
    #[test]
    fn the_program_finds_what_the_knapsack_finds(
        paths in proptest::collection::vec((MBIT, HOLD), 1..6),
        mbit in 0.01..5.0_f64,
    ) {
        let path = |(n, (rate, hold)): (usize, &(f64, f64))| over(&[(n, rate * 1e6)], *hold);
        let paths: Vec<Path> = paths.iter().enumerate().map(path).collect();
        let flow = Flow { paths: &paths, bits: mbit * 1e6 };
        let (one, other) = (program::maximise_flows(&[flow]).unwrap(), fill_knapsack(&paths, mbit * 1e6));
        prop_assert!((one - other).abs() <= 1e-6 * other, "{one} {other}");
    }

    #[test]
    fn two_paths_over_a_common_link_are_best_at_a_corner(
        own in [MBIT, MBIT], holds in [HOLD, HOLD], common in MBIT, mbit in 0.01..5.0_f64,
    ) {
        let path = |n: usize| over(&[(n, own[n] * 1e6), (2, common * 1e6)], holds[n]);
        let found = compute_bounds(&[path(0), path(1)], mbit * 1e6).unwrap();
        let links = [[1.0, 0.0, own[0]], [0.0, 1.0, own[1]], [1.0, 1.0, common]];
        let mut rows = links.to_vec();
        rows.push([holds[0], holds[1], mbit]);
        let wanted = 1e6 * corner(&rows);
        prop_assert!((found.free - wanted).abs() <= 1e-6 * wanted, "{} {wanted}", found.free);
        let (fast, slow) = (holds[0].min(holds[1]), holds[0].max(holds[1]));
        let first = if holds[0] <= holds[1] { own[0] } else { own[1] };
        let one = first.min(common).min(mbit / fast);
        let ordered = 1e6 * one.max(corner(&links).min(mbit / slow));
        prop_assert!((found.ordered - ordered).abs() <= 1e-6 * ordered);
        prop_assert!(found.ordered <= found.free * (1.0 + 1e-6));
    }

    #[test]
    fn three_paths_over_two_common_links_are_best_at_a_corner(
        own in [MBIT, MBIT, MBIT], holds in [HOLD, HOLD, HOLD], common in [MBIT, MBIT],
        mbit in 0.01..5.0_f64,
    ) {
        // The first and second path meet on link 3, the second and third on link 4.
        let on = |link: usize| (link, common[link - 3] * 1e6);
        let paths = [
            over(&[(0, own[0] * 1e6), on(3)], holds[0]),
            over(&[(1, own[1] * 1e6), on(3), on(4)], holds[1]),
            over(&[(2, own[2] * 1e6), on(4)], holds[2]),
        ];
        let found = compute_bounds(&paths, mbit * 1e6).unwrap().free;
        let third = |z: f64| z + corner(&[
            [1.0, 0.0, own[0]],
            [0.0, 1.0, own[1]],
            [1.0, 1.0, common[0]],
            [0.0, 1.0, common[1] - z],
            [holds[0], holds[1], mbit - holds[2] * z],
        ]);
        let most = own[2].min(common[1]).min(mbit / holds[2]);
        let wanted = 1e6 * peak(third, 0.0, most);
        prop_assert!((found - wanted).abs() <= 1e-4 * wanted, "{found} {wanted}");
    }
}
