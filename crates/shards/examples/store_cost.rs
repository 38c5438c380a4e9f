//! What the store costs beside the runs that it keeps, and segments of made-up runs to join.
//!
//! `store_cost share` measures the CPU time of 20,000 runs of half a millisecond, and that of all
//! the store does for the same number: planning, writing, opening, reading, judging.
//! `store_cost synthetic ROWS DIR` writes a plan of so many runs into DIR/plan and a hundred
//! segments with made-up figures into DIR/out, for `polypath sweep --from DIR/out`.

use std::path::{Path, PathBuf};

use polypath_experiments::reproduce::{
    Study, collect_jobs, execute_jobs, judge_sweep, prepare_sweep, run_job,
};
use polypath_experiments::store::{Row, Store};
use polypath_run::metrics::MetricValues;
use polypath_scenario::{Axis, Policies, Source};
use polypath_shards::{Plan, Prepared, SeedRange, Shard, Work};

/// The shortest run that says anything.
const SCENARIO: &str = include_str!("short.toml");
const SHARDS: u32 = 100;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["share"] => measure_share(),
        ["synthetic", rows, folder] => write_synthetic(rows.parse()?, Path::new(folder)),
        _ => Err("usage: store_cost share | synthetic ROWS DIR".into()),
    }
}

/// A sweep of so many points over the delay of path B.
fn source(points: u32) -> Outcome<Source> {
    let mut source = Source::new("short.toml", SCENARIO)?;
    let range = Some(format!("1us..{points}us/1us"));
    source.set_axes(&[Axis { set: vec!["path.B.delay".into()], range, ..Axis::default() }])?;
    Ok(source)
}

fn metrics() -> Vec<String> {
    vec!["goodput".to_owned()]
}

/// CPU time of this process, s.
fn cpu() -> f64 {
    // Fields 14 and 15 behind the name in parentheses, in ticks of 10 ms.
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn measure_share() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("polypath-store-cost-{}", std::process::id()));
    let begin = cpu();
    let study = prepare_sweep(source(200)?, 100, &metrics())?;
    let jobs = collect_jobs([&study]);
    let planned = cpu();
    let rows: Vec<Row> = jobs.iter().map(run_job).collect::<Result<_, _>>()?;
    let ran = cpu();
    let mut store = Store::open(&folder)?;
    for (job, row) in jobs.iter().zip(rows) {
        store.add_row(job.key, row)?;
    }
    store.settle()?;
    drop(store);
    let mut store = Store::open(&folder)?;
    execute_jobs(&jobs, &mut store, &|_done| ())?;
    judge_sweep(&study, &metrics(), &store)?;
    let kept = cpu();
    std::fs::remove_dir_all(&folder)?;
    let (runs, rest) = (ran - planned, kept - ran + planned - begin);
    let each = 1e6 / jobs.len() as f64;
    println!(
        "runs {:.0} us, store {:.0} us each: {:.1} %",
        runs * each,
        rest * each,
        100.0 * rest / runs
    );
    Ok(())
}

fn write_synthetic(rows: u32, folder: &Path) -> Outcome<()> {
    let seeds = SeedRange { from: 0, to: 1000 };
    let plan = Plan::of_sweep(source(rows / 1000)?, &Policies::default(), seeds, &metrics())?;
    plan.write(&folder.join("plan"))?;
    let Prepared::Sweep { study, .. } = plan.prepare()? else { return Err("a sweep".into()) };
    let out = folder.join("out");
    std::fs::create_dir_all(&out)?;
    // A true run says which figures there are, and which of them vary.
    let model = run_job(&collect_jobs([&small_study()?])[0])?;
    let jobs = collect_jobs([study.as_ref()]);
    for number in 1..=SHARDS {
        let shard = Shard { number, of: SHARDS };
        let own = shard.choose_jobs(&vec![1.0; jobs.len()]);
        let path: PathBuf = out.join(format!("{}-{number:03}-of-{SHARDS}.seg", plan.id()));
        let about = serde_json::json!({
            "plan": plan, "number": number, "of": SHARDS, "rows": own.len(),
        });
        let mut store = Store::continue_segments(&[], &path, &about.to_string())?;
        for job in &jobs[own] {
            let noise = f64::from(job.seed as u32 * 2_654_435 % 1000) / 1e3;
            let value = |(name, value): (&str, Option<f64>)| {
                (name.to_owned(), value.map(|value| value * (1.0 + noise)))
            };
            let figures = model.iter().map(value).collect();
            store.add_row(job.key, Row::from_metrics(MetricValues(figures)))?;
        }
        store.flush()?;
    }
    let Work::Sweep { name, .. } = &plan.work else { return Err("a sweep".into()) };
    println!("{} runs of {name} in {SHARDS} segments: {}", jobs.len(), out.display());
    Ok(())
}

fn small_study() -> Outcome<Study> {
    Ok(prepare_sweep(source(1)?, 1, &metrics())?)
}
