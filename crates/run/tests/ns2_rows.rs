//! All rows of the reference data of ns-2.35 (`data/ns2`) beside the profile `ns2`: one command for
//! its mean deviation. Hours of simulated transfers, so it runs on demand alone:
//!
//! `cargo test --release -p polypath-run --test all ns2_rows -- --ignored --nocapture`
//!
//! `POLYPATH_SEEDS`: 60 unless given. `POLYPATH_ROWS`: parts of lines, separated by `|`; rows with
//! any of them run. `POLYPATH_WITHOUT`: switches of `Ns2Faults` to turn, separated by
//! commas.

use polypath_policies::Profile;
use polypath_proto::config::{AssocConfig, Cuc};
use polypath_sim::spec::{AppSpec, FileContent, MessageSpec, TimeSpec};
use rayon::prelude::*;

use crate::common::{PathSpec, S, world};

/// A row of the data.
struct Row {
    file: &'static str,
    cmt: bool,
    buffer: u32,
    policy: usize,
    path: usize,
    losses: Vec<f64>,
    delays: Vec<u64>,
    seeds: u32,
    mean: f64,
    ci: f64,
    timeouts: Option<f64>,
    fast: Option<f64>,
}

const FILES: [(&str, &str); 10] = [
    ("fig3_cmt", include_str!("../../../data/ns2/fig3_cmt.csv")),
    ("fig3_single", include_str!("../../../data/ns2/fig3_single.csv")),
    ("fig4_rbuf64", include_str!("../../../data/ns2/fig4_rbuf64.csv")),
    ("rbuf_sweep", include_str!("../../../data/ns2/rbuf_sweep.csv")),
    ("fig5_loss1_1", include_str!("../../../data/ns2/fig5_loss1_1.csv")),
    ("fig5_loss1_10", include_str!("../../../data/ns2/fig5_loss1_10.csv")),
    ("fig67_cmt", include_str!("../../../data/ns2/fig67_cmt.csv")),
    ("fig67_single", include_str!("../../../data/ns2/fig67_single.csv")),
    ("fig6_corners", include_str!("../../../data/ns2/fig6_corners.csv")),
    ("ranking", include_str!("../../../data/ns2/ranking.csv")),
];

/// The fields of a line; quoted ones may hold commas.
fn split(line: &str) -> Vec<String> {
    let mut quoted = false;
    let mut fields = vec![String::new()];
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (file, text) in FILES {
        let mut lines = text.lines().filter(|l| !l.starts_with('#'));
        let head = split(lines.next().unwrap());
        for line in lines {
            let fields = split(line);
            let get = |name: &str| {
                let at = head.iter().position(|h| h == name)?;
                fields.get(at).map(String::as_str)
            };
            let number = |name: &str| get(name).map(|text| text.parse::<f64>().unwrap());
            let list = |name: &str| {
                let text = get(name).unwrap().split(',');
                text.map(|part| part.parse::<f64>().unwrap()).collect::<Vec<_>>()
            };
            rows.push(Row {
                file,
                cmt: get("mode") == Some("cmt"),
                // "Unlimited": 16 MiB hold the file.
                buffer: (number("rbuf").unwrap() as u32).min(16 << 20),
                policy: number("pol").unwrap_or(2.0) as usize,
                path: number("path").unwrap_or(0.0) as usize,
                losses: list("losses"),
                delays: list("delays").iter().map(|ms| *ms as u64).collect(),
                seeds: number("n_ok").unwrap() as u32,
                mean: number("Tdata_mean").unwrap(),
                ci: number("Tdata_ci95").unwrap(),
                timeouts: number("TO_mean"),
                fast: number("FR_mean"),
            });
        }
    }
    rows
}

/// The stack of ns-2's runs. Its single paths are those of its module without CMT.
fn stack(row: &Row) -> AssocConfig {
    let (mut assoc, mut policies) = Profile::Ns2.stack();
    assoc.receive_buffer = row.buffer;
    #[expect(clippy::disallowed_methods, reason = "whoever runs it says what is off")]
    for name in std::env::var("POLYPATH_WITHOUT").unwrap_or_default().split(',') {
        if !name.is_empty() {
            *assoc.reproduction.ns2.switch(name).expect("a switch of Ns2Faults") ^= true;
        }
    }
    assoc.max_message = 1452;
    policies.path_scheduler = "rr".into();
    policies.retransmission = match row.policy {
        0 => "asap".into(),
        1 => "same".into(),
        2 => "ssthresh".into(),
        3 => format!("lossrate?rates={},{}", row.losses[0], row.losses[1]),
        _ => "cwnd".into(),
    };
    if !row.cmt {
        assoc.cmt.sfr = false;
        assoc.cmt.cuc = Cuc::Off;
        assoc.cmt.dac = false;
        policies.retransmission = "same".into();
        // `FastRtx` and `Timeout` of sctp.cc, where CMT's have 2.
        assoc.congestion.loss_floor_mtus = 4;
    }
    assoc.policies = polypath_policies::factory(&policies).unwrap();
    assoc
}

/// Seconds from the arrival of the first DATA to the last delivery; timeouts; fast retransmissions.
fn transfer(row: &Row, seed: u64) -> [f64; 10] {
    let app =
        AppSpec::File { content: FileContent::Pattern(8 << 20), messages: MessageSpec::default() };
    let time = TimeSpec { settle: 0, measure: 5000 * S, stop_when_done: true };
    let mut paths: Vec<_> =
        row.losses.iter().zip(&row.delays).map(|(&loss, &ms)| PathSpec::s1(loss, ms)).collect();
    if !row.cmt {
        paths = vec![paths[row.path.min(paths.len() - 1)]];
    }
    let result = polypath_sim::run(&world(&paths, stack(row), app, time), seed, None).unwrap();
    let flow = &result.flows[0];
    let time = flow.times.from_first_arrival().expect("the transfer ends") as f64 / S as f64;
    let counters = &flow.counters;
    let by_rto = counters.timeouts_by_rto.map(|n| n as f64);
    let [one, two, four, eight, more] = by_rto;
    let (timeouts, fast) = (counters.timeouts as f64, counters.retransmissions_fast as f64);
    let path = |i: usize| flow.paths.get(i).map_or(0.0, |p| p.timeouts as f64);
    [time, timeouts, fast, one, two, four, eight, more, path(0), path(1)]
}

fn mean_and_ci(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let var = values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, 2.0 * (var / n).sqrt())
}

#[test]
#[ignore = "10,000 transfers, an hour: made by hand when ns2 changes (data/ns2/README.md)"]
#[expect(clippy::disallowed_methods, reason = "whoever runs it says what and how much")]
fn every_row_of_ns2_beside_the_profile() {
    let seeds: u64 = std::env::var("POLYPATH_SEEDS").map_or(60, |s| s.parse().unwrap());
    let wanted = std::env::var("POLYPATH_ROWS").unwrap_or_default();
    let mut deviations = Vec::new();
    for row in rows() {
        let mode = if row.cmt { "cmt" } else { "sctp" };
        let policy = ["asap", "same", "ssthresh", "lossrate", "cwnd"][row.policy];
        let place = format!(
            "{} {mode} {policy} {:3}K {:?} {:?}",
            row.file,
            row.buffer >> 10,
            row.losses,
            row.delays
        );
        if !wanted.split('|').any(|part| place.contains(part)) {
            continue;
        }
        let runs: Vec<[f64; 10]> = (1..=seeds).into_par_iter().map(|s| transfer(&row, s)).collect();
        let (mean, ci) = mean_and_ci(runs.iter().map(|r| r[0]));
        let timeouts = mean_and_ci(runs.iter().map(|r| r[1])).0;
        let fast = mean_and_ci(runs.iter().map(|r| r[2])).0;
        let by_rto: Vec<String> =
            (3..10).map(|i| format!("{:.2}", mean_and_ci(runs.iter().map(|r| r[i])).0)).collect();
        let deviation = 100.0 * (mean / row.mean - 1.0);
        println!(
            "{place:68} {mean:7.2} +- {ci:5.2} ns-2 {:7.2} +- {:5.2} {deviation:+6.1} % \
             timeouts {timeouts:6.2} ns-2 {:6.2}, fast {fast:5.1} ns-2 {:5.1}, by RTO {}",
            row.mean,
            row.ci,
            row.timeouts.unwrap_or(f64::NAN),
            row.fast.unwrap_or(f64::NAN),
            by_rto.join("/"),
        );
        if row.seeds >= 60 {
            deviations.push(deviation);
        }
    }
    let (mean, ci) = mean_and_ci(deviations.iter().copied());
    let worst = deviations.iter().fold(0.0_f64, |worst, d| worst.max(d.abs()));
    println!(
        "{} rows with 60 seeds: mean {mean:+.2} +- {ci:.2} %, worst {worst:.1} %",
        deviations.len()
    );
}
