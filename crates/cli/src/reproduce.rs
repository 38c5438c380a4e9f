//! `polypath reproduce`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use polypath_experiments::carried::Carried;
use polypath_experiments::disk::Disk;
use polypath_experiments::experiment::{Experiment, find_files};
use polypath_experiments::reproduce::{Options, Study, collect_jobs, execute_jobs, prepare_study};
use polypath_experiments::store::Store;
use polypath_policies::did_you_mean;
use polypath_report::{Destination, count_verdicts, paper_name, text, write_report};
use polypath_scenario::Files;
use polypath_shards::{Plan, Prepared};

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::advance_shared_bar;
use crate::shards::{join, write_plan};
use crate::store::tell_damage;
use crate::talk::Talk;

pub(crate) fn reproduce(args: &ReproduceArgs, talk: Talk) -> Result<(), Failure> {
    if args.check {
        return check_experiments(args);
    }
    if !args.shards.from.is_empty() {
        return reproduce_from(args, talk);
    }
    let experiments = choose_experiments(args)?;
    let options = Options {
        quick: args.quick,
        seeds: args.seeds,
        sensitivity: !args.quick && !args.no_sensitivity,
    };
    if let Some(folder) = &args.shards.plan {
        let (files, _) = find_experiments(args)?;
        let paths = experiments.iter().map(|one| one.file.clone()).collect();
        let plan = Plan::of_experiments(files, args.scenarios.is_none(), paths, options)?;
        return write_plan(&plan, folder, args.json, talk);
    }
    let studies: Vec<Study> = experiments
        .into_iter()
        .map(|experiment| prepare_study(experiment, options))
        .collect::<Result<_, _>>()?;
    let mut store = Store::open(&args.out.join("runs")).map_err(Failure::run_failed)?;
    tell_damage(store.damage(), talk);
    run_studies(&studies, &mut store, talk)?;
    write_reports(args, &studies, &store, talk)
}

/// Judges what shards have run.
fn reproduce_from(args: &ReproduceArgs, talk: Talk) -> Result<(), Failure> {
    let joined = join(&args.shards, "reproduce", talk)?;
    let Prepared::Reproduce(studies) = joined.plan.prepare()? else { return Ok(()) };
    write_reports(args, &studies, &joined.store, talk)
}

/// Says what is wrong with the files, one line each, and how many runs they need.
fn check_experiments(args: &ReproduceArgs) -> Result<(), Failure> {
    let (mut wrong, mut known) = (0, Vec::new());
    let options = Options { quick: args.quick, seeds: args.seeds, sensitivity: !args.quick };
    let (files, paths) = find_experiments(args)?;
    for path in paths {
        let read = Experiment::from_files(Arc::clone(&files), &path).map(|one| {
            let asked = args.ids.is_empty() || args.ids.iter().any(|id| is_named(&one.head.id, id));
            known.push(one.head.id.clone());
            asked.then_some(one)
        });
        let studied = match read {
            Ok(None) => continue,
            Ok(Some(experiment)) => prepare_study(experiment, options),
            Err(error) => Err(error),
        };
        match studied {
            Ok(study) => {
                let id = &study.experiment.head.id;
                let (claims, runs) = (study.experiment.claims.len(), collect_jobs([&study]).len());
                output::print_text(&format!("{id}: {claims} claims, {runs} runs\n"))?;
            }
            Err(error) => {
                wrong += 1;
                eprintln!("polypath: {error}");
            }
        }
    }
    if wrong > 0 {
        return Err(Failure::bad_input(format!("{wrong} files are wrong")));
    }
    all_known(args, &known)
}

/// Every name means an experiment, and there are some at all.
fn all_known(args: &ReproduceArgs, known: &[String]) -> Result<(), Failure> {
    if known.is_empty() {
        let folder = args.scenarios.as_deref().unwrap_or(Path::new("")).display();
        return Err(Failure::bad_input(format!("{folder}: no experiment files")));
    }
    let unknown = args.ids.iter().find(|id| !known.iter().any(|own| is_named(own, id)));
    unknown.map_or(Ok(()), |id| {
        let hint = did_you_mean(id, known.iter().map(String::as_str));
        let known = known.join(", ");
        Err(Failure::bad_input(format!("no experiment {id:?}{hint} (allowed: {known})")))
    })
}

/// The experiment files, and what has them: a folder that is named, or the program itself.
fn find_experiments(args: &ReproduceArgs) -> Result<(Arc<dyn Files>, Vec<PathBuf>), Failure> {
    let Some(folder) = &args.scenarios else {
        return Ok((Arc::new(Carried), Carried.find_experiments()));
    };
    let found = find_files(folder).map_err(|error| {
        let hint = "(allowed: a folder of experiment files; those of the program without it)";
        Failure::bad_input(format!("--scenarios {}: {error} {hint}", folder.display()))
    })?;
    Ok((Arc::new(Disk), found))
}

/// The experiments that the arguments name; all without names.
fn choose_experiments(args: &ReproduceArgs) -> Result<Vec<Experiment>, Failure> {
    let mut all = Vec::new();
    let (files, paths) = find_experiments(args)?;
    for path in paths {
        all.push(Experiment::from_files(Arc::clone(&files), &path)?);
    }
    // By id, so that reports list them alike wherever their files are.
    all.sort_by(|a, b| a.head.id.cmp(&b.head.id));
    let known: Vec<String> = all.iter().map(|one| one.head.id.clone()).collect();
    all_known(args, &known)?;
    all.retain(|one| args.ids.is_empty() || args.ids.iter().any(|id| is_named(&one.head.id, id)));
    Ok(all)
}

/// `S0` names all of a paper, `S0-F4` one.
fn is_named(own: &str, id: &str) -> bool {
    own == id || paper_name(own) == id
}

fn run_studies(studies: &[Study], store: &mut Store, talk: Talk) -> Result<(), Failure> {
    let jobs = collect_jobs(studies);
    let progress = Mutex::new(talk.progress());
    let made = execute_jobs(&jobs, store, &|done| advance_shared_bar(&progress, done))
        .map_err(Failure::run_failed)?;
    store.settle().map_err(Failure::run_failed)?;
    drop(progress);
    talk.say(format_args!("{made} runs made, {} found in the store", jobs.len() - made));
    Ok(())
}

fn write_reports(
    args: &ReproduceArgs,
    studies: &[Study],
    store: &Store,
    talk: Talk,
) -> Result<(), Failure> {
    let command = command_line(args);
    let commit = find_commit(args.tables.as_deref().unwrap_or(&args.out));
    let pages = args.tables.as_deref();
    let to = Destination { folder: &args.out, pages, command: &command, commit: commit.as_deref() };
    let report = write_report(studies, store, to)?;
    let tables = report.pages.iter();
    tables.for_each(|page| talk.say(format_args!("tables: {}", page.display())));
    if args.json {
        output::print_json(&report.experiments)?;
    } else {
        for (experiment, drawings) in report.experiments.iter().zip(&report.drawings) {
            let figures: String =
                drawings.iter().map(|drawing| text::format_figure(drawing) + "\n").collect();
            output::print_text(&format!("{figures}{}\n", text::format_claims(experiment)))?;
        }
        output::print_text(&text::format_conclusions(&report.experiments))?;
        let [holds, not, unclear] = count_verdicts(&report.experiments);
        output::print_text(&format!("{holds} claims hold, {not} do not, {unclear} are unclear\n"))?;
    }
    talk.say(format_args!("report: {}", report.page.display()));
    Ok(())
}

/// The commit of the checkout that a folder is in, and whether something was changed since.
fn find_commit(folder: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no", "--", ":/crates"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit} with changes") })
}

fn command_line(args: &ReproduceArgs) -> String {
    let mut command = String::from("polypath reproduce");
    for id in &args.ids {
        command.push_str(&format!(" {id}"));
    }
    if args.quick {
        command.push_str(" --quick");
    }
    if args.no_sensitivity {
        command.push_str(" --no-sensitivity");
    }
    if let Some(seeds) = args.seeds {
        command.push_str(&format!(" --seeds {seeds}"));
    }
    command
}
