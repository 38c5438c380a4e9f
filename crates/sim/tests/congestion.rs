//! What the congestion controls do to a network: shares of a bottleneck, disjoint paths, long fat
//! paths, the first second.
//!
//! `cargo test -p polypath-sim --test all -- --nocapture --test-threads 1` prints the rows
//! of `docs/explanation/congestion-control.md`.

use crate::common;
use std::sync::Arc;

use crate::common::{MS, link, lossy, run, saturated, seconds, world};
use polypath_link::{LinkConfig, Queue};
use polypath_policies::{PolicySpec, factory};
use polypath_proto::config::AssocConfig;
use polypath_sim::results::RunResult;
use polypath_sim::spec::{EndSpec, LinkSpec, WorldSpec};

const BUFFER: u32 = 8 << 20;

/// CMT with default policies but for the congestion control.
fn controlled(congestion: &str) -> Arc<AssocConfig> {
    let spec = PolicySpec { congestion: congestion.to_owned(), ..PolicySpec::default() };
    let policies = factory(&spec).expect("a congestion control with valid options");
    Arc::new(AssocConfig { policies, ..(*common::assoc(BUFFER)).clone() })
}

fn one_flow(links: &[LinkConfig], congestion: &str) -> WorldSpec {
    let mut spec = world(links, saturated(), BUFFER);
    spec.flows[0] = spec.flows[0].clone().with_assoc(controlled(congestion));
    spec
}

/// Goodput of the first flow in Mbit/s, mean of `seeds` runs.
fn goodput(spec: &WorldSpec, seeds: u64) -> f64 {
    let of = |result: RunResult| result.flows[0].total.goodput / 1e6;
    (1..=seeds).map(|seed| of(run(spec, seed))).sum::<f64>() / seeds as f64
}

/// The part of a 20 Mbit/s link that two paths through it take beside one `rfc9260` flow.
fn share_beside_one_flow(congestion: &str) -> f64 {
    let access = LinkConfig { queue: Queue::DropTailPackets(1000), ..link(1000, 20) };
    let mut spec = one_flow(&[access.clone(), access], congestion);
    spec.topology.links.push(LinkSpec { name: "neck".into(), config: link(20, 1) });
    for route in spec.topology.routes.iter_mut().filter(|r| r.links[0].ends_with("forward")) {
        route.links.push("neck".into());
    }
    let mut other = spec.flows[0].clone();
    other.paths.truncate(1);
    other.client = EndSpec { port: 6000, assoc: controlled("rfc9260") };
    other.server = EndSpec { port: 6001, assoc: controlled("rfc9260") };
    (other.name, other.connect_jitter) = ("other".into(), 100 * MS);
    spec.flows.push(other);
    spec.time = seconds(20, 120);
    let share = |seed| {
        let rates = run(&spec, seed).flows.iter().map(|f| f.total.goodput).collect::<Vec<_>>();
        rates[0] / rates.iter().sum::<f64>()
    };
    (1..=8).map(share).sum::<f64>() / 8.0
}

#[test]
fn coupled_paths_share_a_bottleneck_with_one_flow() {
    let shares = ["rfc9260", "lia", "olia", "balia"].map(|cc| (cc, share_beside_one_flow(cc)));
    println!("share of a bottleneck beside one flow: {shares:.3?}");
    let [uncoupled, coupled @ ..] = shares.map(|(_, share)| share);
    assert!(uncoupled > 0.62, "two flows against one");
    assert!(coupled.iter().all(|share| (0.40..=0.60).contains(share)), "{coupled:?}");
}

#[test]
fn coupled_paths_fill_what_nobody_else_uses() {
    for cc in ["rfc9260", "lia", "olia", "balia", "cubic"] {
        let mut spec = one_flow(&[link(10, 10), link(10, 40)], cc);
        spec.time = seconds(20, 60);
        let share = goodput(&spec, 2) / (2.0 * 10.0 * 1452.0 / 1500.0);
        println!("two disjoint paths filled: {cc} {share:.3}");
        assert!(share > 0.95, "{cc}: {share}");
    }
}

#[test]
fn a_lossy_path_does_not_slow_the_good_one() {
    let paths = [lossy(20, 20, 0.05), link(20, 20)];
    for cc in ["rfc9260", "lia", "olia", "balia", "cubic"] {
        let both = one_flow(&paths, cc);
        let alone = one_flow(&paths[1..], cc);
        let [both, alone] = [both, alone].map(|mut spec| {
            spec.time = seconds(20, 60);
            goodput(&spec, 4)
        });
        println!("a path of 5 % loss beside a good one: {cc} {both:.2} Mbit/s, alone {alone:.2}");
        assert!(both > alone, "{cc}: {both} with the lossy path, {alone} without");
    }
}

#[test]
fn coupling_costs_where_losses_are_random() {
    let rates = ["rfc9260", "lia", "olia", "balia"].map(|cc| {
        let mut spec = one_flow(&[lossy(20, 20, 0.01), lossy(20, 20, 0.01)], cc);
        spec.time = seconds(20, 60);
        goodput(&spec, 4)
    });
    println!("two paths of 1 % loss: cmt, lia, olia, balia, Mbit/s: {rates:.2?}");
    assert!(rates[1..].iter().all(|rate| (0.5..0.85).contains(&(rate / rates[0]))), "{rates:?}");
}

#[test]
fn cubic_uses_long_fat_paths_and_is_reno_on_short_ones() {
    let compare = |link: LinkConfig| {
        ["rfc9260", "cubic?rfc=8312", "cubic"].map(|cc| {
            let mut spec = one_flow(core::slice::from_ref(&link), cc);
            spec.time = seconds(20, 60);
            goodput(&spec, 4)
        })
    };
    let long = LinkConfig { queue: Queue::DropTailPackets(800), ..lossy(100, 50, 0.0001) };
    let (long, short) = (compare(long), compare(lossy(20, 5, 0.01)));
    println!(
        "cmt, cubic 8312, cubic 9438, Mbit/s: 100 Mbit/s x 100 ms {long:.2?}, 10 ms {short:.2?}"
    );
    assert!(long[1..].iter().all(|l| *l > 1.2 * long[0]), "{long:?}");
    assert!(short[1..].iter().all(|s| (0.75..1.35).contains(&(s / short[0]))), "{short:?}");
}

#[test]
fn hystart_ends_slow_start_before_the_queue_overflows() {
    let deep = LinkConfig { queue: Queue::DropTailPackets(1000), ..link(20, 25) };
    for cc in ["rfc9260", "cubic"] {
        let first_seconds = |hystart: bool| {
            let mut spec =
                one_flow(core::slice::from_ref(&deep), &format!("{cc}?hystart={hystart}"));
            spec.time = seconds(0, 5);
            let result = run(&spec, 1);
            let flow = &result.flows[0];
            let srtt = flow.paths[0].srtt.expect("measured") / MS;
            (flow.counters.retransmissions_fast, srtt, flow.total.goodput / 1e6)
        };
        let (plain, hystart) = (first_seconds(false), first_seconds(true));
        println!(
            "first 5 s, {cc}: (lost, SRTT ms, Mbit/s) {plain:.2?}, with HyStart++ {hystart:.2?}"
        );
        assert!(plain.0 > 100 && hystart.0 == 0, "{cc}: {plain:?}, {hystart:?}");
        assert!(hystart.1 < plain.1, "{cc}: {plain:?}, {hystart:?}");
        assert!(hystart.2 > 0.98 * plain.2, "{cc}: {plain:?}, {hystart:?}");
    }
}
