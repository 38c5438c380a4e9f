//! SACKs as traffic: goodput where ways back are thin, by what is done about SACKs.
//!
//! Profile `fast` with SACK thinning, beside the same without: a SACK with all gap ack blocks for
//! every second packet, on the nearest path, or on all of them by turns. `--help` says how to run
//! it.

use std::error::Error;

use polypath_experiments::stats::{Estimate, Interval};
use polypath_population::{Draw, Feature, Population};
use polypath_proto::config::SackPath;
use polypath_run::{Recording, RunError, read_scenario, run};
use polypath_scenario::{Scenario, Source};
use rayon::prelude::*;
use serde::Serialize;

const HELP: &str = "\
Goodput where ways back are thin: thinned SACKs beside SACKs for every second packet,
on the nearest path or by turns. First four pairs of access lines, then networks
drawn at random that have a thin way back, several paths and a saturated source.

Usage: sack_ways [--draws N] [--seed S] [--packets N] [--runs N] [--steady] [--json]

  --draws N     networks (default 100)
  --seed S      the population's seed; below 1000000 for tuning (default 7)
  --packets N   packets that one run may carry (default 30000)
  --runs N      runs of each network, with the same seeds for all three (default 1);
                two and more tell which draws fall short beyond chance
  --steady      only networks without loss, jitter, or anything that changes
  --json        one JSON object a line for each network

Example:
  cargo run --release -p polypath-population --example sack_ways -- --draws 20";

/// Down and up of both lines in kbit/s, one-way delays in ms.
const ACCESS_LINES: [[u32; 6]; 4] = [
    [40_000, 2_000, 12, 25_000, 6_000, 22],
    [60_000, 1_500, 8, 16_000, 1_000, 18],
    [100_000, 5_000, 15, 30_000, 2_000, 30],
    [20_000, 500, 9, 10_000, 800, 14],
];
/// Seeds that each pair of lines is measured with.
const SEEDS: u64 = 3;
/// At least this share of the better way without thinning is what is wanted.
const BAR: f64 = 0.98;

struct Request {
    draws: usize,
    runs: u64,
    population: Population,
    steady: bool,
    json: bool,
}

/// One network, by what is done about SACKs.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Whether nothing in it is up to chance or changes.
    steady: bool,
    thinned: Measured,
    nearest: Measured,
    by_turns: Measured,
}

/// What runs came to: means, and the goodput of each.
#[derive(Default, Serialize)]
struct Measured {
    /// bit/s.
    goodput: f64,
    /// bit/s, seed by seed.
    goodputs: Vec<f64>,
    /// The share of the time for which the busiest way back was busy.
    way_back: f64,
    /// bit/s on all ways back for each of goodput.
    cost: f64,
}

impl Row {
    /// bit/s of the better one of the two without thinning.
    fn better(&self) -> f64 {
        self.nearest.goodput.max(self.by_turns.goodput).max(1.0)
    }

    /// Ours against that.
    fn ratio(&self) -> f64 {
        self.thinned.goodput / self.better()
    }

    /// The same of runs with the same seeds, with its interval. The better one is chosen after the
    /// runs, which favours it.
    fn ratio_interval(&self) -> Interval {
        let (nearest, by_turns) = (&self.nearest, &self.by_turns);
        let better = if nearest.goodput > by_turns.goodput { nearest } else { by_turns };
        let estimate = |measured: &Measured| Estimate::of_runs(&measured.goodputs);
        estimate(&self.thinned).over(&estimate(better)).interval()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(request) = parse_arguments()? else {
        println!("{HELP}");
        return Ok(());
    };
    let lines = ACCESS_LINES.par_iter().map(measure_lines);
    let lines: Vec<Row> = lines.collect::<Result<_, String>>()?;
    let draws = find_draws(&request)?;
    eprintln!("{} networks are drawn; {} runs of each follow", draws.len(), 3 * request.runs);
    let measure = |draw: &Draw| measure_draw(draw, request.runs);
    let mut rows: Vec<Row> = draws.par_iter().map(measure).collect::<Result<_, RunError>>()?;
    rows.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    if request.json {
        for row in lines.iter().chain(&rows) {
            println!("{}", serde_json::to_string(row)?);
        }
        return Ok(());
    }
    print_rows(&lines);
    print_rows(&rows);
    print_summary("all", rows.iter());
    print_summary("steady", rows.iter().filter(|row| row.steady));
    Ok(())
}

fn parse_arguments() -> Result<Option<Request>, String> {
    let population = Population { seed: 7, packets: 30_000 };
    let mut request = Request { draws: 100, runs: 1, population, steady: false, json: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut number = || {
            let text = arguments.next().unwrap_or_default();
            text.parse::<u64>().map_err(|_| format!("{name}: {text:?} (allowed: a whole number)"))
        };
        match name.as_str() {
            "--draws" => request.draws = number()? as usize,
            "--seed" => request.population.seed = number()?,
            "--packets" => request.population.packets = number()?,
            "--runs" => request.runs = number()?.max(1),
            "--steady" => request.steady = true,
            "--json" => request.json = true,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("{name:?} is unknown (allowed: those of --help)")),
        }
    }
    Ok(Some(request))
}

fn measure_lines(lines: &[u32; 6]) -> Result<Row, String> {
    let [down, up, delay, other_down, other_up, other_delay] = lines;
    let text = format!(
        "[path.cable]
         delay = '{delay}ms'
         forward.rate = '{down}kbit/s'
         reverse.rate = '{up}kbit/s'
         [path.dsl]
         delay = '{other_delay}ms'
         forward.rate = '{other_down}kbit/s'
         reverse.rate = '{other_up}kbit/s'
         [stack]
         profile = 'fast'
         [[flow]]
         app = 'saturated'
         [time]
         settle = '8s'
         measure = '8s'"
    );
    let source = Source::new("lines.toml", text).map_err(|error| error.to_string())?;
    let scenario = read_scenario(&source).map_err(|error| error.to_string())?;
    let name = format!(
        "{}/{} + {}/{} Mbit/s",
        f64::from(*down) / 1e3,
        f64::from(*up) / 1e3,
        f64::from(*other_down) / 1e3,
        f64::from(*other_up) / 1e3
    );
    measure_ways(&scenario, name, true, SEEDS).map_err(|error| error.to_string())
}

/// The first networks of the population that have a thin way back, several paths, our receiver, and
/// a source that never runs dry.
fn find_draws(request: &Request) -> Result<Vec<Draw>, polypath_population::DrawError> {
    let foreign = [Feature::LinuxReceiver, Feature::UsrsctpReceiver, Feature::WebrtcReceiver];
    let mut found = Vec::new();
    for number in 0.. {
        if found.len() >= request.draws {
            break;
        }
        let draw = request.population.draw(number)?;
        let is_ours = !foreign.iter().any(|feature| draw.features.contains(feature));
        let is_thin = draw.features.contains(&Feature::ThinWayBack);
        let has_several = draw.scenario.path_names().count() > 1;
        let is_wanted = is_steady(&draw) || !request.steady;
        if is_wanted && is_thin && is_ours && has_several && draw.application.is_saturated() {
            found.push(draw);
        }
    }
    Ok(found)
}

/// Nothing is lost at random, varies or changes.
fn is_steady(draw: &Draw) -> bool {
    let is_uneven = |f: &Feature| f.loses_packets() || f.changes_network() || f.varies_delays();
    !draw.features.iter().any(is_uneven)
}

fn measure_draw(draw: &Draw, runs: u64) -> Result<Row, RunError> {
    let words: Vec<&str> = draw.features.iter().map(|feature| feature.words()).collect();
    let name = format!("{}, {}: {}", draw.number, draw.application, words.join(", "));
    let steady = is_steady(draw);
    measure_ways(&draw.scenario, name, steady, runs)
}

fn measure_ways(
    scenario: &Scenario,
    name: String,
    steady: bool,
    seeds: u64,
) -> Result<Row, RunError> {
    let with = |thinning: bool, path: SackPath| {
        let mut scenario = scenario.clone();
        scenario.stack.sack_thinning = Some(thinning);
        scenario.stack.sack_path = Some(path);
        measure_mean(&scenario, seeds)
    };
    Ok(Row {
        name,
        steady,
        thinned: with(true, SackPath::SmallestSrtt)?,
        nearest: with(false, SackPath::SmallestSrtt)?,
        by_turns: with(false, SackPath::RoundRobin)?,
    })
}

fn measure_mean(scenario: &Scenario, seeds: u64) -> Result<Measured, RunError> {
    let mut mean = Measured::default();
    for seed in 0..seeds {
        let one = measure_run(scenario, scenario.seeds.first + seed)?;
        mean.goodput += one.goodput / seeds as f64;
        mean.goodputs.push(one.goodput);
        mean.way_back += one.way_back / seeds as f64;
        mean.cost += one.cost / seeds as f64;
    }
    Ok(mean)
}

fn measure_run(scenario: &Scenario, seed: u64) -> Result<Measured, RunError> {
    let result = run(scenario, seed, Recording::default(), &mut |_done| ())?;
    let goodput = result.flows.first().map_or(0.0, |flow| flow.total.goodput);
    let seconds = result.measured as f64 * 1e-9;
    let backs = || result.links.iter().filter(|link| link.name.ends_with(".reverse"));
    let way_back = backs().map(|link| link.busy as f64 * 1e-9 / seconds).fold(0.0, f64::max);
    let bits: f64 = backs().map(|link| link.delivered_bytes as f64 * 8.0 / seconds).sum();
    let cost = bits / goodput.max(1.0);
    Ok(Measured { goodput, goodputs: vec![goodput], way_back, cost })
}

fn print_rows(rows: &[Row]) {
    println!(
        "\n| network | fast | nearest | by turns | fast over the better \
         | busiest way back | SACKs for data |\n|---|---|---|---|---|---|---|"
    );
    for row in rows {
        let Row { thinned, nearest, by_turns, .. } = row;
        let mega = |measured: &Measured| format!("{:.3}", measured.goodput / 1e6);
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        println!(
            "| {} | {} | {} | {} | {:.3} | {}, {}, {} % | {}, {}, {} % |",
            row.name,
            mega(thinned),
            mega(nearest),
            mega(by_turns),
            row.ratio(),
            percent(thinned.way_back),
            percent(nearest.way_back),
            percent(by_turns.way_back),
            percent(thinned.cost),
            percent(nearest.cost),
            percent(by_turns.cost),
        );
    }
}

fn print_summary<'a>(name: &str, rows: impl Iterator<Item = &'a Row> + Clone) {
    let count = rows.clone().count();
    let reach =
        |share: fn(&Row) -> f64, bar: f64| rows.clone().filter(|row| share(row) >= bar).count();
    println!(
        "\n{name}: {} of {count} reach {BAR} of the better of the others, {} reach 0.9; nearest \
         reaches {BAR} in {}, by turns in {}",
        reach(Row::ratio, BAR),
        reach(Row::ratio, 0.9),
        reach(|row| row.nearest.goodput / row.better(), BAR),
        reach(|row| row.by_turns.goodput / row.better(), BAR),
    );
    let beyond_chance =
        |is: fn(Interval) -> bool| rows.clone().filter(|row| is(row.ratio_interval())).count();
    println!(
        "by intervals of 95 %: {} above {BAR}, {} below it, the others either",
        beyond_chance(|ratio| ratio.low() >= BAR),
        beyond_chance(|ratio| ratio.high() < BAR),
    );
    let mean = |of: fn(&Row) -> f64| {
        // A run that carries nothing would outweigh all others.
        let ratio = |row: &Row| (row.thinned.goodput.max(1.0) / of(row).max(1.0)).clamp(0.1, 10.0);
        let logs = rows.clone().map(|row| ratio(row).ln());
        (logs.sum::<f64>() / count.max(1) as f64).exp()
    };
    println!(
        "geometric mean, each from 0.1 to 10, over nearest {:.3}, over by turns {:.3}",
        mean(|row| row.nearest.goodput),
        mean(|row| row.by_turns.goodput)
    );
}
