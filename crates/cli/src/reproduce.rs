//! `polypath reproduce`.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use polypath_experiments::evaluate::Evaluator;
use polypath_experiments::experiment::{Experiment, Table, files};
use polypath_experiments::reproduce::{
    ExperimentReport, Options, Stored, Study, execute, jobs, judge, study,
};
use polypath_experiments::store::Store;
use polypath_report::figure::{Drawing, Tabulated, diagrams, svg, tabulate, time_series};
use polypath_report::report::{self, Chapter};

use crate::args::ReproduceArgs;
use crate::failure::{Failure, unwritten};
use crate::output;
use crate::progress::Progress;
use crate::tables;

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.check {
        return check(args);
    }
    let experiments = chosen(args)?;
    let options = Options {
        quick: args.quick,
        seeds: args.seeds,
        sensitivity: !args.quick && !args.no_sensitivity,
    };
    let studies: Vec<Study> = experiments
        .into_iter()
        .map(|experiment| study(experiment, options))
        .collect::<Result<_, _>>()?;
    let mut store = Store::open(&args.out.join("runs")).map_err(Failure::run)?;
    run(&studies, &mut store)?;
    write(args, &studies, &store)
}

/// Says what is wrong with the files, one line each, and how many runs they need.
fn check(args: &ReproduceArgs) -> Result<(), Failure> {
    let (mut wrong, mut known) = (0, Vec::new());
    let options = Options { quick: args.quick, seeds: args.seeds, sensitivity: !args.quick };
    for path in found(args)? {
        let read = Experiment::read(&path).map(|one| {
            let asked = args.ids.is_empty() || args.ids.iter().any(|id| is_named(&one.head.id, id));
            known.push(one.head.id.clone());
            asked.then_some(one)
        });
        let studied = match read {
            Ok(None) => continue,
            Ok(Some(experiment)) => study(experiment, options),
            Err(error) => Err(error),
        };
        match studied {
            Ok(study) => {
                let id = &study.experiment.head.id;
                let (claims, runs) = (study.experiment.claims.len(), jobs([&study]).len());
                output::text(&format!("{id}: {claims} claims, {runs} runs\n"))?;
            }
            Err(error) => {
                wrong += 1;
                eprintln!("polypath: {error}");
            }
        }
    }
    if wrong > 0 {
        return Err(Failure::input(format!("{wrong} files are wrong")));
    }
    all_known(args, &known)
}

/// Every name means an experiment, and there are some at all.
fn all_known(args: &ReproduceArgs, known: &[String]) -> Result<(), Failure> {
    if known.is_empty() {
        return Err(Failure::input(format!("{}: no experiment files", args.scenarios.display())));
    }
    let unknown = args.ids.iter().find(|id| !known.iter().any(|own| is_named(own, id)));
    unknown.map_or(Ok(()), |id| {
        let known = known.join(", ");
        Err(Failure::input(format!("no experiment {id:?} (allowed: {known})")))
    })
}

fn found(args: &ReproduceArgs) -> Result<Vec<PathBuf>, Failure> {
    let folder = &args.scenarios;
    files(folder).map_err(|error| {
        let hint = "(allowed: a folder of experiment files; --scenarios names it)";
        Failure::input(format!("{}: {error} {hint}", folder.display()))
    })
}

/// The experiments that the arguments name; all without names.
fn chosen(args: &ReproduceArgs) -> Result<Vec<Experiment>, Failure> {
    let mut all = Vec::new();
    for path in found(args)? {
        all.push(Experiment::read(&path)?);
    }
    let known: Vec<String> = all.iter().map(|one| one.head.id.clone()).collect();
    all_known(args, &known)?;
    all.retain(|one| args.ids.is_empty() || args.ids.iter().any(|id| is_named(&one.head.id, id)));
    Ok(all)
}

/// `S0` names all of a paper, `S0-F4` one.
fn is_named(own: &str, id: &str) -> bool {
    own == id || report::paper(own) == id
}

fn run(studies: &[Study], store: &mut Store) -> Result<(), Failure> {
    let jobs = jobs(studies);
    let progress = Mutex::new(Progress::new());
    let made = execute(&jobs, store, &|done| told(&progress, done)).map_err(Failure::run)?;
    store.settle().map_err(Failure::run)?;
    drop(progress);
    eprintln!("{made} runs made, {} found in the store", jobs.len() - made);
    Ok(())
}

/// Moves a bar that several threads share.
pub(crate) fn told(progress: &Mutex<Progress>, done: f64) {
    if let Ok(mut progress) = progress.lock() {
        progress.report(done);
    }
}

fn write(args: &ReproduceArgs, studies: &[Study], store: &Store) -> Result<(), Failure> {
    let mut reports: Vec<ExperimentReport> = Vec::new();
    let (mut drawings, mut tables) = (Vec::new(), Vec::new());
    for study in studies {
        let (report, stored) = judge(study, store);
        let folder = args.out.join(&report.id);
        create(&folder)?;
        tables::write(&folder, study, &stored)?;
        let drawn = draw(study, &stored, &report)?;
        for drawing in &drawn {
            save(&folder, drawing)?;
        }
        let filled = tabulated(study, &stored)?;
        for table in &filled {
            let text = report::table_markdown(table, 1);
            write_text(&folder.join(format!("{}.md", table.name)), &text)?;
        }
        if !args.json {
            let figures = drawn.iter().map(|drawing| report::figure(drawing) + "\n");
            let figures: String = figures.collect();
            output::text(&format!("{figures}{}\n", report::claims(&report)))?;
        }
        reports.push(report);
        drawings.push(drawn);
        tables.push(filled);
    }
    let command = command(args);
    if let Some(folder) = &args.tables {
        let command = format!("{command} --tables {}", folder.display());
        pages(folder, studies, &tables, &command)?;
    }
    let chapters: Vec<Chapter<'_>> = studies
        .iter()
        .zip(&reports)
        .zip(drawings.into_iter().zip(tables))
        .map(|((study, report), (drawings, tables))| Chapter { study, report, drawings, tables })
        .collect();
    let page = args.out.join("report.html");
    write_text(&page, &report::page(&chapters, &command))?;
    let folder = args.out.join("summary");
    create(&folder)?;
    for (name, text) in report::summaries(&reports, &command) {
        write_text(&folder.join(name), &text)?;
    }
    if args.json {
        output::json(&reports)?;
    } else {
        let [holds, not, unclear] = report::tally(&reports);
        output::text(&format!("{holds} claims hold, {not} do not, {unclear} are unclear\n"))?;
    }
    eprintln!("report: {}", page.display());
    Ok(())
}

/// All figures of an experiment.
fn draw(
    study: &Study,
    stored: &Stored,
    report: &ExperimentReport,
) -> Result<Vec<Drawing>, Failure> {
    let evaluator = Evaluator::new(stored);
    let mut drawings = Vec::new();
    for figure in &study.experiment.figures {
        let failed =
            |text: &str| Failure::input(format!("{}: figure {}: {text}", report.id, figure.name));
        let shown = if figure.series.is_empty() {
            diagrams(figure, &evaluator, &report.deviations).map_err(|why| failed(why.text()))?
        } else {
            let result = study.observe(figure).map_err(|error| failed(&error))?;
            vec![time_series(figure, &result)]
        };
        let mut panels = Vec::new();
        for diagram in shown {
            let drawn = svg(&diagram).map_err(|error| failed(&error.to_string()))?;
            panels.push((diagram, drawn));
        }
        drawings.push(Drawing { name: figure.name.clone(), title: figure.title.clone(), panels });
    }
    Ok(drawings)
}

/// All tables of an experiment.
fn tabulated(study: &Study, stored: &Stored) -> Result<Vec<Tabulated>, Failure> {
    let evaluator = Evaluator::new(stored);
    let id = &study.experiment.head.id;
    let one = |table: &Table| {
        let failed = |text: &str| Failure::input(format!("{id}: table {}: {text}", table.name));
        tabulate(table, &evaluator).map_err(|why| failed(why.text()))
    };
    study.experiment.tables.iter().map(one).collect()
}

/// The pages of the documentation that the tables ask for.
fn pages(
    folder: &Path,
    studies: &[Study],
    tables: &[Vec<Tabulated>],
    command: &str,
) -> Result<(), Failure> {
    create(folder)?;
    let chapter = |(study, tables): (&Study, &Vec<Tabulated>)| {
        let head = &study.experiment.head;
        (head.title.clone(), head.question.clone(), tables.clone())
    };
    let chapters: Vec<_> = studies.iter().zip(tables).map(chapter).collect();
    for (name, text) in report::table_pages(&chapters, command) {
        let path = folder.join(format!("{name}.md"));
        write_text(&path, &text)?;
        eprintln!("tables: {}", path.display());
    }
    Ok(())
}

fn save(folder: &Path, drawing: &Drawing) -> Result<(), Failure> {
    for (n, (_, svg)) in drawing.panels.iter().enumerate() {
        let number = if drawing.panels.len() > 1 { format!("-{}", n + 1) } else { String::new() };
        write_text(&folder.join(format!("{}{number}.svg", drawing.name)), svg)?;
    }
    Ok(())
}

fn command(args: &ReproduceArgs) -> String {
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

pub(crate) fn create(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    let written = File::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| unwritten(path, &error))
}
