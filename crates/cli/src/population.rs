//! `polypath population`.

mod page;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use polypath_population::summary::Summary;
use polypath_population::{
    Draw, ExecuteError, Plan, Population, Record, Records, check_scheduler, execute,
    other_schedulers, own_scheduler, run_draw, summary_text, write_draw, write_file,
};

use polypath_scenario::Policies;
use polypath_shards::Prepared;

use crate::args::PopulationArgs;
use crate::failure::{Failure, file_not_written};
use crate::progress::advance_shared_bar;
use crate::shards::{join, write_plan};
use crate::talk::Talk;
use crate::{interrupt, output};

/// The tables of a population, in its folder.
const TABLES: &str = "population.md";
/// The same with figures.
const PAGE: &str = "population.html";

pub(crate) fn population(
    args: &PopulationArgs,
    talk: Talk,
    policies: &Policies,
) -> Result<(), Failure> {
    if !args.shards.from.is_empty() {
        return population_from(args, talk);
    }
    let plan = Plan {
        population: Population { seed: args.seed, packets: args.packets },
        draws: args.draws,
        schedulers: read_schedulers(&args.schedulers, policies)?,
        jobs: args.jobs,
        policies: policies.clone(),
    };
    if let Some(folder) = &args.shards.plan {
        return write_plan(&polypath_shards::Plan::of_population(&plan)?, folder, args.json, talk);
    }
    match args.draw {
        Some(number) => show_draw(args, &plan, number, talk),
        None => run_all(args, &plan, talk),
    }
}

/// Tells what shards have run.
fn population_from(args: &PopulationArgs, talk: Talk) -> Result<(), Failure> {
    let joined = join(&args.shards, "population", talk)?;
    let Prepared::Population(plan) = joined.plan.prepare()? else { return Ok(()) };
    if joined.records.is_empty() {
        return Err(Failure::run_failed("no draw is there yet"));
    }
    std::fs::create_dir_all(&args.out).map_err(|error| file_not_written(&args.out, &error))?;
    report_population(args, &plan, &joined.records, talk)
}

/// The schedulers that the words mean.
fn read_schedulers(words: &[String], policies: &Policies) -> Result<Vec<String>, Failure> {
    match words {
        [word] if word == "all" => return Ok(other_schedulers()),
        [word] if word == "none" => return Ok(Vec::new()),
        _ => {}
    }
    for name in words {
        check_scheduler(name, policies).map_err(Failure::bad_input)?;
        if *name == own_scheduler() {
            let refused = "it is the one that is measured (allowed: others, all or none)";
            return Err(Failure::bad_input(format!("--schedulers {name}: {refused}")));
        }
    }
    Ok(words.to_vec())
}

fn show_draw(args: &PopulationArgs, plan: &Plan, number: u64, talk: Talk) -> Result<(), Failure> {
    let path = write_one(plan.population, number, &args.out)?;
    talk.say(format_args!("scenario: {}", path.display()));
    let record = run_draw(plan, number).map_err(failure_of)?;
    if args.json { output::print_json(&record) } else { output::print_text(&record_text(&record)) }
}

fn record_text(record: &Record) -> String {
    let mut text = format!(
        "draw {} of seed {}: {}, {} paths\n",
        record.number, record.seed, record.application, record.paths
    );
    let best = format!("{} alone", record.alone.best);
    let own = own_scheduler();
    let runs = [(own.as_str(), &record.ours), (best.as_str(), &record.alone.outcome)];
    let others = record.others.iter().map(|(name, outcome)| (name.as_str(), outcome));
    for (name, outcome) in runs.into_iter().chain(others) {
        let p99 = outcome.p99.map_or(String::new(), |p99| format!(", p99 {p99:.3} s"));
        text += &format!("{name:<16} {:>16.1}{p99}\n", outcome.performance);
    }
    text + &record.limit.map_or(String::new(), |limit| format!("{:<16} {limit:>16.1}\n", "limit"))
}

fn run_all(args: &PopulationArgs, plan: &Plan, talk: Talk) -> Result<(), Failure> {
    let mut records = Records::open(&args.out, args.resume).map_err(Failure::bad_input)?;
    interrupt::hold_interrupt();
    let progress = Mutex::new(talk.progress());
    let done = execute(
        plan,
        &mut records,
        &|done| advance_shared_bar(&progress, done),
        &interrupt::was_interrupted,
    )
    .map_err(failure_of)?;
    drop(progress);
    if !done.is_empty() {
        report_population(args, plan, &done, talk)?;
    }
    if (done.len() as u64) < plan.draws {
        talk.say(format_args!("{} of {} draws; --resume goes on", done.len(), plan.draws));
        return Err(Failure::from_status(interrupt::INTERRUPTED));
    }
    Ok(())
}

/// Prints what is known, and writes page and worst draws.
fn report_population(
    args: &PopulationArgs,
    plan: &Plan,
    done: &[Record],
    talk: Talk,
) -> Result<(), Failure> {
    let summary = Summary::of_records(plan.population, done);
    let text = summary_text(&summary);
    let command = command_line(plan);
    let tables = args.out.join(TABLES);
    let heading = format!("# A population of networks\n\n`{command}`\n\n");
    write_file(&tables, &(heading + &text)).map_err(|error| file_not_written(&tables, &error))?;
    let page = args.out.join(PAGE);
    let content = page::draw_page(&summary, done, command, &text).map_err(Failure::run_failed)?;
    write_file(&page, &content).map_err(|error| file_not_written(&page, &error))?;
    for worst in &summary.worst {
        write_one(plan.population, worst.number, &args.out)?;
    }
    talk.say(format_args!("page: {}", page.display()));
    if !summary.worst.is_empty() {
        talk.say("the worst draws are scenario files beside it");
    }
    if args.json { output::print_json(&summary) } else { output::print_text(&text) }
}

fn write_one(population: Population, number: u64, folder: &Path) -> Result<PathBuf, Failure> {
    let draw: Draw = population.draw(number).map_err(Failure::bad_input)?;
    write_draw(population, &draw, folder).map_err(|error| file_not_written(folder, &error))
}

fn command_line(plan: &Plan) -> String {
    let Population { seed, packets } = plan.population;
    let all = plan.schedulers == other_schedulers();
    let schedulers = match plan.schedulers.join(",") {
        _ if all => "all".to_owned(),
        none if none.is_empty() => "none".to_owned(),
        names => names,
    };
    let draws = plan.draws;
    format!(
        "polypath population --draws {draws} --seed {seed} --schedulers {schedulers} --packets {packets}"
    )
}

fn failure_of(error: ExecuteError) -> Failure {
    match error {
        ExecuteError::Draw(error) => Failure::bad_input(error),
        ExecuteError::Jobs(_) => Failure::bad_input(error),
        ExecuteError::Run { .. } | ExecuteError::Records(_) => Failure::run_failed(error),
    }
}
