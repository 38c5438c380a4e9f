//! Transfers of 8 MiB with a 64 KiB receive buffer under the five retransmission policies of S1,
//! beside the original simulator's (`data/ns2/fig4_rbuf64.csv`, 100 runs per point).

use crate::common::{PathSpec, S, policies, s1, world};
use polypath_sim::spec::{AppSpec, FileContent, MessageSpec, TimeSpec};
use rayon::prelude::*;

/// A point of the reference data.
struct Point {
    policy: &'static str,
    loss: f64,
    mean: f64,
    ci: f64,
}

fn reference() -> Vec<Point> {
    let text = include_str!("../../../data/ns2/fig4_rbuf64.csv");
    let policy = ["asap", "same", "ssthresh", "lossrate", "cwnd"];
    let row = |line: &str| {
        // The losses and delays are quoted lists of two.
        let fields: Vec<&str> = line.split(['"', ',']).filter(|f| !f.is_empty()).collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        // mode rbuf pol loss loss delay delay n_ok n_fail T_mean T_ci95 median p10 p90 thr
        // Tdata_mean Tdata_ci95
        Point {
            policy: policy[number(2) as usize],
            loss: number(4),
            mean: number(15),
            ci: number(16),
        }
    };
    text.lines().filter(|l| l.starts_with("cmt,")).map(row).collect()
}

/// Seconds from the arrival of the first DATA to the last delivery.
fn transfer(policy: &str, loss: f64, seed: u64) -> f64 {
    let mut assoc = s1(65_536);
    assoc.policies = policies(|p| {
        p.retransmission = match policy {
            "lossrate" => format!("lossrate?rates=0.01,{loss}"),
            name => name.into(),
        }
    });
    let app =
        AppSpec::File { content: FileContent::Pattern(8 << 20), messages: MessageSpec::default() };
    let time = TimeSpec { settle: 0, measure: 2000 * S, stop_when_done: true };
    let paths = [PathSpec::s1(0.01, 45), PathSpec::s1(loss, 45)];
    let result = polypath_sim::run(&world(&paths, assoc, app, time), seed, None).unwrap();
    let flow = &result.flows[0];
    assert!(flow.integrity.holds(), "seed {seed}: {:?}", flow.integrity);
    flow.times.from_first_arrival().expect("the transfer ends") as f64 / S as f64
}

fn mean_and_ci(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Student's t at 97.5 % for 30 and more degrees of freedom lies within 2.05.
    (mean, 2.05 * (var / n).sqrt())
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test takes the number of seeds from whoever runs it"
)]
fn transfer_times_agree_with_the_original_simulator() {
    let seeds: u64 = std::env::var("POLYPATH_SEEDS").map_or(30, |s| s.parse().unwrap());
    let mut missed = Vec::new();
    for point in reference() {
        let times: Vec<f64> =
            (1..=seeds).into_par_iter().map(|s| transfer(point.policy, point.loss, s)).collect();
        let (mean, ci) = mean_and_ci(&times);
        let (low, high) = (mean - ci, mean + ci);
        let overlap = low <= point.mean + point.ci && high >= point.mean - point.ci;
        let close = (mean / point.mean - 1.0).abs() <= 0.15;
        println!(
            "{:9} {:4.0} % {mean:7.2} +- {ci:5.2} s, ns-2 {:7.2} +- {:5.2} s, {:+5.1} % {}",
            point.policy,
            point.loss * 100.0,
            point.mean,
            point.ci,
            (mean / point.mean - 1.0) * 100.0,
            if overlap || close { "" } else { "MISSED" }
        );
        if !(overlap || close) {
            missed.push(format!("{} at {} %", point.policy, point.loss * 100.0));
        }
    }
    assert!(missed.len() <= 2, "more than two of twenty points miss: {missed:?}");
}
