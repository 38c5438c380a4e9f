//! How well shared bottlenecks are found: prints the tables of `docs/explanation/shared-bottlenecks.md`.
//!
//! `cargo run --release -p polypath-sim --example sharing -- seeds=1,5 rates=8,30
//! delays=10,30,40,40 queues=50,200 paths=shared beside=Flow scheduler=knapsack congestion=rfc9260
//! other=min-rtt` (the first and last seed; rates of the bottleneck in Mbit/s; one-way delays of
//! both paths in ms, pair by pair; queues in packets; `times=40,60,90`: from when on runs count
//! that were grouped 5 s before, and all runs, and the end, in s; `paths` are `shared`, `disjoint`
//! or `both`; beside them is `Nobody`, `Flow`, `FlowAndBursts` or `all`, with the path scheduler
//! `other`, which decides when to stop filling the path). All of them may be left out.

use std::sync::Arc;

use polypath_link::{LinkConfig, Queue};
use polypath_policies::{PolicySpec, profile};
use polypath_proto::config::AssocConfig;
use polypath_proto::trace::{TraceEvent, TraceRecord};
use polypath_sim::observer::TraceSource;
use polypath_sim::spec::{
    AppSpec, EndSpec, FlowSpec, LinkSpec, MessageSpec, Period, Refill, TimeSpec, Topology,
    WorldSpec,
};
use polypath_sim::{DuplexPath, Observer};

const MS: u64 = 1_000_000;
const SEC: u64 = 1_000 * MS;
const RATES: [u64; 3] = [5, 20, 50];
const DELAYS: [[u64; 2]; 5] = [[5, 5], [20, 20], [100, 100], [5, 50], [20, 100]];
const QUEUES: [u32; 3] = [20, 100, 500];
const TIMES: [u64; 3] = [40, 60, 90];

/// Who else is there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Company {
    Nobody,
    /// A saturated single-path flow on every bottleneck.
    Flow,
    /// The same, and bursts of a quarter of the link.
    FlowAndBursts,
}

/// What is run.
struct Plan {
    scheduler: String,
    congestion: String,
    /// The path scheduler of those beside it.
    other: String,
    seeds: std::ops::RangeInclusive<u64>,
    rates: Vec<u64>,
    delays: Vec<[u64; 2]>,
    queues: Vec<u32>,
    times: Times,
}

/// Seconds from the start.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Runs count whose paths were grouped five seconds before.
    settled: u64,
    /// From here on all runs count, whether their paths were grouped by then or not.
    late: u64,
    end: u64,
}

/// Two paths of one association.
#[derive(Clone, Copy, Debug)]
struct Cell {
    shared: bool,
    company: Company,
    /// Mbit/s.
    rate: u64,
    /// One way, ms.
    delays: [u64; 2],
    /// Packets.
    queue: u32,
}

/// What became of it.
struct Outcome {
    /// When the paths were grouped and separated, seconds.
    changes: Vec<(f64, bool)>,
    /// Mbit/s of each flow while it was measured.
    goodput: Vec<f64>,
    /// The same of the last part of it.
    late: Vec<f64>,
}

/// Profile `fast` with buffers that are no limit.
fn stack(scheduler: &str, congestion: &str) -> Arc<AssocConfig> {
    let (mut assoc, policies) = profile::fast();
    let policies = PolicySpec {
        path_scheduler: scheduler.to_owned(),
        congestion: congestion.to_owned(),
        ..policies
    };
    (assoc.send_buffer, assoc.receive_buffer) = (8 << 20, 8 << 20);
    Arc::new(profile::config((assoc, policies)).expect("names of policies"))
}

fn link(rate: u64, delay: u64, queue: u32) -> LinkConfig {
    LinkConfig {
        rate: Some(rate * 1_000_000),
        delay: delay * MS,
        queue: Queue::DropTailPackets(queue),
        ..LinkConfig::default()
    }
}

fn topology(cell: &Cell) -> Topology {
    let path = |(i, delay): (usize, &u64)| {
        let name = ["A", "B"][i];
        if cell.shared {
            DuplexPath::symmetric(name, link(1000, delay - 1, 5000))
        } else {
            DuplexPath::symmetric(name, link(cell.rate, *delay, cell.queue))
        }
    };
    let paths: Vec<_> = cell.delays.iter().enumerate().map(path).collect();
    let mut topology = Topology::disjoint(&paths);
    if cell.shared {
        let config = link(cell.rate, 1, cell.queue);
        topology.links.push(LinkSpec { name: "neck".into(), config });
        for route in &mut topology.routes {
            if route.links.first().is_some_and(|l| l.ends_with("forward")) {
                route.links.push("neck".into());
            }
        }
    }
    topology
}

fn world(cell: &Cell, plan: &Plan) -> WorldSpec {
    let addresses: Vec<_> = (0..2).map(Topology::disjoint_addresses).collect();
    let messages = MessageSpec { unordered: true, ..MessageSpec::default() };
    let saturated = AppSpec::Saturated { messages, refill: Refill::RoundRobin };
    let mut ports = 5000..;
    let mut flow = |name: String, paths, app, scheduler: &str, congestion: &str| {
        let assoc = stack(scheduler, congestion);
        let mut end = || EndSpec { port: ports.next().unwrap_or(1), assoc: Arc::clone(&assoc) };
        let (client, server) = (end(), end());
        FlowSpec {
            client,
            server,
            start_at: SEC,
            start_jitter: SEC,
            ..FlowSpec::new(name, paths, app)
        }
    };
    let cc = plan.congestion.as_str();
    let coupled = format!("{cc}{}couple=detected", if cc.contains('?') { '&' } else { '?' });
    let multi =
        flow("multi".into(), addresses.clone(), saturated.clone(), &plan.scheduler, &coupled);
    let mut flows = vec![FlowSpec { trace: true, ..multi }];
    let bottlenecks = if cell.shared { 1 } else { 2 };
    for (i, pair) in addresses.iter().take(bottlenecks).enumerate() {
        if cell.company != Company::Nobody {
            flows.push(flow(format!("single{i}"), vec![*pair], saturated.clone(), &plan.other, cc));
        }
        if cell.company == Company::FlowAndBursts {
            let (on, off) = (Period::Exponential(SEC), Period::Exponential(2 * SEC));
            let app = AppSpec::OnOff { messages, rate: Some(cell.rate * 250_000), on, off };
            flows.push(flow(format!("bursts{i}"), vec![*pair], app, &plan.other, cc));
        }
    }
    WorldSpec {
        topology: topology(cell),
        flows,
        time: TimeSpec {
            settle: plan.times.settled * SEC,
            measure: (plan.times.end - plan.times.settled) * SEC,
            stop_when_done: false,
        },
        sample_every: Some(SEC),
        ..WorldSpec::default()
    }
}

/// Notes when paths are grouped.
#[derive(Default)]
struct Groups {
    changes: Vec<(f64, bool)>,
}

impl Observer for Groups {
    fn trace(&mut self, _source: TraceSource<'_>, record: &TraceRecord) {
        if let TraceEvent::Group { path, group } = record.event {
            self.changes.push((record.at.as_nanos() as f64 / SEC as f64, path != group));
        }
    }
}

fn run(cell: &Cell, plan: &Plan, seed: u64) -> Outcome {
    let mut groups = Groups::default();
    let result = polypath_sim::run(&world(cell, plan), seed, Some(&mut groups));
    let result = result.expect("a valid world");
    let goodput = result.flows.iter().map(|f| f.total.goodput / 1e6).collect();
    let late = result.flows.iter().map(|f| {
        let at = |time: u64| f.samples.iter().take_while(|s| s.at <= time).last();
        let bytes = |time: u64| at(time).map_or(0, |s| s.delivered);
        let (from, end) = (plan.times.late * SEC, plan.times.end * SEC);
        (bytes(end) - bytes(from)) as f64 * 8e3 / (end - from) as f64
    });
    let late = late.collect();
    Outcome { changes: groups.changes, goodput, late }
}

impl Outcome {
    fn found(&self) -> Option<f64> {
        self.changes.first().map(|c| c.0 - 1.0)
    }

    /// The part of the association beside the single-path flow.
    fn share(&self) -> Option<f64> {
        share(&self.goodput)
    }
}

fn share(goodput: &[f64]) -> Option<f64> {
    let (own, other) = (goodput.first()?, goodput.get(1)?);
    Some(own / (own + other))
}

/// The value below which this part of all lies.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(((values.len() as f64 - 1.0) * part).round() as usize).copied().unwrap_or(f64::NAN)
}

fn cells(plan: &Plan, shared: bool, company: Company) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &rate in &plan.rates {
        for &delays in &plan.delays {
            cells.extend(plan.queues.iter().map(|&queue| Cell {
                shared,
                company,
                rate,
                delays,
                queue,
            }));
        }
    }
    cells
}

fn row(plan: &Plan, shared: bool, company: Company) {
    let runs: Vec<(Cell, Outcome)> = cells(plan, shared, company)
        .into_iter()
        .flat_map(|cell| plan.seeds.clone().map(move |seed| (cell, run(&cell, plan, seed))))
        .collect();
    let mut times: Vec<_> = runs.iter().filter_map(|(_, o)| o.found()).collect();
    let before = plan.times.settled as f64 - 5.0;
    let settled = |o: &Outcome| o.found().is_some_and(|t| t < before) && o.changes.len() == 1;
    let mut shares: Vec<_> =
        runs.iter().filter(|(_, o)| settled(o)).filter_map(|(_, o)| o.share()).collect();
    let mut late: Vec<_> = runs.iter().filter_map(|(_, o)| share(&o.late)).collect();
    let late_fair = late.iter().filter(|s| (0.4..=0.6).contains(*s)).count();
    let fair = shares.iter().filter(|s| (0.4..=0.6).contains(*s)).count();
    let again = runs.iter().filter(|(_, o)| o.changes.len() > 1).count();
    let full: Vec<_> =
        runs.iter().map(|(c, o)| o.goodput.iter().sum::<f64>() / capacity(c)).collect();
    println!(
        "| {} | {company:?} | {} | {} | {:.0} | {:.0} | {again} | {:.0} ({:.0} to {:.0}) | {fair} of {} | {:.0} ({:.0} to {:.0}) | {late_fair} of {} | {:.1} |",
        if shared { "shared" } else { "disjoint" },
        runs.len(),
        times.len(),
        quantile(&mut times, 0.5),
        quantile(&mut times, 0.9),
        100.0 * quantile(&mut shares, 0.5),
        100.0 * quantile(&mut shares, 0.1),
        100.0 * quantile(&mut shares, 0.9),
        shares.len(),
        100.0 * quantile(&mut late, 0.5),
        100.0 * quantile(&mut late, 0.1),
        100.0 * quantile(&mut late, 0.9),
        late.len(),
        100.0 * full.iter().sum::<f64>() / full.len() as f64,
    );
    for (cell, outcome) in runs.iter().filter(|(_, o)| o.found().is_some() != shared) {
        eprintln!("wrong {cell:?} {:.1?} {:.2?}", outcome.changes, outcome.goodput);
    }
    for (cell, outcome) in runs.iter().filter(|(_, o)| settled(o) && shared) {
        if outcome.share().is_some_and(|s| !(0.4..=0.6).contains(&s)) {
            eprintln!("unfair {cell:?} {:.1?} {:.2?}", outcome.changes, outcome.goodput);
        }
    }
}

/// Payload that all bottlenecks carry, Mbit/s.
fn capacity(cell: &Cell) -> f64 {
    let links = if cell.shared { 1.0 } else { 2.0 };
    links * cell.rate as f64 * 1452.0 / 1500.0
}

/// The numbers of `name=1,2,3` among the arguments.
fn numbers<T: std::str::FromStr + Clone>(args: &[String], name: &str, default: &[T]) -> Vec<T> {
    let value = args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='));
    value.map_or_else(
        || default.to_vec(),
        |v| v.split(',').map(|n| n.parse().ok().expect("a number")).collect(),
    )
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str, default: &str| {
        let value = args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or(default).to_owned()
    };
    let seeds = numbers(&args, "seeds", &[1, 5]);
    let flat: Vec<u64> = DELAYS.iter().flatten().copied().collect();
    let delays = numbers(&args, "delays", &flat);
    let times = numbers(&args, "times", &TIMES);
    let [settled, late, end] = times[..] else { panic!("times=40,60,90: three numbers") };
    assert!(settled < end && late < end, "times={settled},{late},{end}: the last one is the end");
    let plan = Plan {
        scheduler: text("scheduler", "knapsack"),
        congestion: text("congestion", "rfc9260?unqueued=true"),
        other: text("other", "knapsack"),
        seeds: seeds[0]..=*seeds.last().expect("seeds"),
        rates: numbers(&args, "rates", &RATES),
        delays: delays.chunks_exact(2).map(|d| [d[0], d[1]]).collect(),
        queues: numbers(&args, "queues", &QUEUES),
        times: Times { settled, late, end },
    };
    println!(
        "| paths | company | runs | grouped | median, s | 90 %, s | separated again | share beside one flow, % (10 to 90 %) | 40 to 60 % | all, {} to {} s | 40 to 60 % | filled, % |",
        late, end
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let (paths, beside) = (text("paths", "both"), text("beside", "all"));
    for shared in [true, false] {
        if paths == if shared { "disjoint" } else { "shared" } {
            continue;
        }
        for company in [Company::Flow, Company::FlowAndBursts, Company::Nobody] {
            if beside == "all" || beside == format!("{company:?}") {
                row(&plan, shared, company);
            }
        }
    }
}
