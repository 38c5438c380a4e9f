//! What protection costs: goodput on networks drawn at random, protected beside plain.
//!
//! Profile `fast` with `stack.protection = "stand-in"`, whose packets, exchanges and times are
//! those of TLS 1.3 and AES-GCM, beside the same without. `--help` says how to run it.

use std::error::Error;
use std::ops::Range;

use polypath_population::{Draw, Population};
use polypath_proto::protection::OVERHEAD;
use polypath_run::{Recording, RunError, run};
use polypath_scenario::units::Size;
use polypath_scenario::{Protection, Scenario};
use rayon::prelude::*;
use serde::Serialize;

const HELP: &str = "\
Goodput of protected associations over that of plain ones, on networks drawn at random,
with the same seeds for both. Protection takes 28 bytes of each packet: `share` is
what these leave of a network that is the limit, and `net` the ratio over that share;
`chance` is the ratio of plain ones with other seeds.
Messages that fill a packet of 1500 bytes are 28 bytes shorter in protected ones,
as of an application that asks how much a packet takes; --same-messages leaves them.

Usage: protection [--draws N] [--seed S] [--packets N] [--runs N] [--same-messages] [--json]

  --draws N         networks (default 300)
  --seed S          the population's seed; from 1000000 on for reports (default 7)
  --packets N       packets that one run may carry (default 30000)
  --runs N          runs of each network and each kind (default 1)
  --same-messages   the same messages for both
  --json            one JSON object a line for each network

Example:
  cargo run --release -p polypath-population --example protection -- --draws 20";

/// Payload of a full packet of 1500 bytes over IPv4, unprotected.
const FULL: u64 = 1_452;
/// Bytes for chunks in such a packet.
const ROOM: u64 = 1_468;
/// Bytes of the headers of IPv4 and SCTP.
const HEADERS: u64 = 32;
/// Bytes of a DATA chunk's header.
const CHUNK: u64 = 16;
/// At least this share of the goodput of plain ones is what is wanted.
const BAR: f64 = 0.97;

struct Request {
    draws: u64,
    runs: u64,
    population: Population,
    same_messages: bool,
    json: bool,
}

/// One network.
#[derive(Serialize)]
struct Row {
    number: u64,
    name: String,
    /// bit/s, run by run.
    plain: Vec<f64>,
    /// The same.
    protected: Vec<f64>,
    /// Plain ones with other seeds: what chance alone does.
    control: Vec<f64>,
    /// Mean over mean.
    ratio: f64,
    /// Of the bytes that a plain association spends on the wire, what the same messages leave of
    /// them for a protected one.
    share: f64,
    /// Ratio over share.
    net: f64,
    /// The control's mean over that of plain ones.
    chance: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(request) = parse_arguments()? else {
        println!("{HELP}");
        return Ok(());
    };
    let draws = 0..request.draws;
    let draws: Vec<Draw> =
        draws.map(|number| request.population.draw(number)).collect::<Result<_, _>>()?;
    let measure = |draw: &Draw| measure_draw(draw, &request);
    let mut rows: Vec<Row> = draws.par_iter().map(measure).collect::<Result<_, RunError>>()?;
    rows.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    if request.json {
        for row in &rows {
            println!("{}", serde_json::to_string(row)?);
        }
        return Ok(());
    }
    print_rows(&rows);
    print_summary("goodput over that of plain", rows.iter().map(|row| row.ratio).collect());
    print_summary("the same over its share", rows.iter().map(|row| row.net).collect());
    print_summary("plain with other seeds", rows.iter().map(|row| row.chance).collect());
    Ok(())
}

fn parse_arguments() -> Result<Option<Request>, String> {
    let population = Population { seed: 7, packets: 30_000 };
    let mut request =
        Request { draws: 300, runs: 1, population, same_messages: false, json: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut number = || {
            let text = arguments.next().unwrap_or_default();
            text.parse::<u64>().map_err(|_| format!("{name}: {text:?} (allowed: a whole number)"))
        };
        match name.as_str() {
            "--draws" => request.draws = number()?,
            "--seed" => request.population.seed = number()?,
            "--packets" => request.population.packets = number()?,
            "--runs" => request.runs = number()?.max(1),
            "--same-messages" => request.same_messages = true,
            "--json" => request.json = true,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("{name:?} is unknown (allowed: those of --help)")),
        }
    }
    Ok(Some(request))
}

fn measure_draw(draw: &Draw, request: &Request) -> Result<Row, RunError> {
    let words: Vec<&str> = draw.features.iter().map(|feature| feature.words()).collect();
    let name = format!("{}: {}", draw.application, words.join(", "));
    let mut scenario = draw.scenario.clone();
    scenario.stack.protection = Some(Protection::StandIn);
    for flow in &mut scenario.flow {
        if flow.message_or_default() == Size(FULL) && !request.same_messages {
            flow.message = Some(Size(FULL - OVERHEAD as u64));
        }
    }
    let plain = measure_runs(&draw.scenario, 0..request.runs)?;
    let protected = measure_runs(&scenario, 0..request.runs)?;
    let control = measure_runs(&draw.scenario, request.runs..2 * request.runs)?;
    let sum = |of: &[f64]| of.iter().sum::<f64>().max(1.0);
    let ratio = sum(&protected) / sum(&plain);
    let chance = sum(&control) / sum(&plain);
    let share = payload_of_bytes(&scenario, OVERHEAD as u64) / payload_of_bytes(&draw.scenario, 0);
    let (number, net) = (draw.number, ratio / share);
    Ok(Row { number, name, plain, protected, control, ratio, share, net, chance })
}

/// Payload per byte on the wire of the first flow's messages, or of its responses.
fn payload_of_bytes(scenario: &Scenario, overhead: u64) -> f64 {
    let first = scenario.flow.first();
    let size = first.map(|flow| flow.response.unwrap_or_else(|| flow.message_or_default()));
    let message = size.map_or(FULL, |size| size.0);
    let (room, headers) = (ROOM - overhead, HEADERS + overhead);
    let chunk = CHUNK + message.next_multiple_of(4);
    let (payload, bytes) = if chunk > room {
        let parts = message.div_ceil(room - CHUNK);
        (message, message + parts * (headers + CHUNK))
    } else {
        let bundled = room / chunk;
        (bundled * message, headers + bundled * chunk)
    };
    payload as f64 / bytes as f64
}

fn measure_runs(scenario: &Scenario, runs: Range<u64>) -> Result<Vec<f64>, RunError> {
    let measure = |number| {
        let seed = scenario.seeds.first + number;
        let result = run(scenario, seed, Recording::default(), &mut |_done| ())?;
        Ok(result.flows.first().map_or(0.0, |flow| flow.total.goodput))
    };
    runs.map(measure).collect()
}

fn print_rows(rows: &[Row]) {
    println!(
        "| draw | network | plain, Mbit/s | ratio | share | net | chance |\n|---|---|---|---|---|---|---|"
    );
    for Row { number, name, plain, ratio, share, net, chance, .. } in rows {
        let mean = plain.iter().sum::<f64>() / plain.len().max(1) as f64 / 1e6;
        println!(
            "| {number} | {name} | {mean:.3} | {ratio:.3} | {share:.3} | {net:.3} | {chance:.3} |"
        );
    }
}

fn print_summary(name: &str, mut ratios: Vec<f64>) {
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len();
    let quantile = |share: f64| ratios.get((share * count as f64) as usize).copied();
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let below = ratios.iter().filter(|ratio| **ratio < BAR).count();
    println!(
        "\n{name}, {count} networks: worst {}, 5 % {}, median {}, 95 % {}; {below} below {BAR}",
        shown(ratios.first().copied()),
        shown(quantile(0.05)),
        shown(quantile(0.5)),
        shown(quantile(0.95)),
    );
}
