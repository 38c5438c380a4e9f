//! Everything that `polypath reproduce` writes about experiments that were run.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use polypath_experiments::evaluate::{Evaluator, Verdict};
use polypath_experiments::experiment::{Figure, MAIN, Table};
use polypath_experiments::output::Output;
use polypath_experiments::reproduce::{ExperimentReport, Study, judge_study};
use polypath_experiments::store::{Store, StoreError};
use polypath_policies::profile::Profile;

use crate::chapter::Chapter;
use crate::csv_table::write_csv;
use crate::figure::{Drawing, Tabulated, build_diagrams, draw_svg, tabulate_results, time_series};
use crate::html::render_page;
use crate::markdown::format_summaries;
#[cfg(feature = "parquet")]
use crate::parquet_table::write_parquet;
use crate::runs::Runs;
use crate::seal::seal_page;
use crate::tables::{format_data, format_markdown, format_pages};

/// Where a report goes, and what it says of its making.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The folder of everything: `report.html`, `summary/`, and a folder for each experiment.
    pub folder: &'a Path,
    /// The folder of those pages of the documentation that tables ask for; none are written without
    /// it.
    pub pages: Option<&'a Path>,
    /// The command that makes the same report.
    pub command: &'a str,
    /// The commit of the sources, for pages of a profile whose results change.
    pub commit: Option<&'a str>,
}

/// What came out, and where most of it stands.
#[derive(Debug)]
pub struct Report {
    /// Verdicts, in the order of the studies.
    pub experiments: Vec<ExperimentReport>,
    /// Figures, likewise.
    pub drawings: Vec<Vec<Drawing>>,
    /// The page with all of it.
    pub page: PathBuf,
    /// Pages of the documentation.
    pub pages: Vec<PathBuf>,
}

/// Why there is no report, or only a part of it.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure or table shows what does not exist.
    #[error("{experiment}: {what}: {problem}")]
    Exhibit {
        /// Id of the experiment.
        experiment: String,
        /// Which figure or table.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The runs cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be written.
    #[error("{}: cannot be written: {problem}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

impl ReportError {
    /// Whether an experiment's file is at fault.
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, Self::Exhibit { .. })
    }
}

/// Judges studies by what the store holds, and writes all there is to say about them: tables of
/// runs, figures and tables of each experiment, a page with everything, and summaries.
///
/// # Errors
/// A figure or table that shows what does not exist, or a file that cannot be written.
pub fn write_report(
    studies: &[Study],
    store: &Store,
    to: Destination<'_>,
) -> Result<Report, ReportError> {
    let (mut experiments, mut drawings, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    for study in studies {
        let (report, stored) = judge_study(study, store)?;
        let folder = to.folder.join(&report.id);
        write_runs(&folder, study, store)?;
        let exhibits = Exhibits { study, report: &report, evaluator: Evaluator::new(&stored) };
        drawings.push(exhibits.draw_into(&folder)?);
        tables.push(exhibits.tabulate_into(&folder)?);
        experiments.push(report);
    }
    let found: Vec<_> = studies.iter().zip(&experiments).zip(&tables).collect();
    let pages = to.pages.map(|folder| write_pages(folder, &found, to));
    let pages = pages.transpose()?.unwrap_or_default();
    let mut chapters = Vec::new();
    for (n, study) in studies.iter().enumerate() {
        let (report, drawings, tables) = (&experiments[n], &drawings[n], &tables[n]);
        chapters.push(Chapter { study, report, drawings, tables });
    }
    let path = to.folder.join("report.html");
    write_text(&path, &render_page(&chapters, to.command))?;
    for (name, text) in format_summaries(&experiments, to.command) {
        let sealed = seal_page(&text, &profiles_of(studies.iter()), to.commit);
        write_text(&to.folder.join("summary").join(name), &sealed)?;
    }
    Ok(Report { experiments, drawings, page: path, pages })
}

/// Writes a table of a study's runs into a folder, and says where the CSV file is.
///
/// # Errors
/// When a file cannot be written, or the store not be read.
pub fn write_runs(folder: &Path, study: &Study, store: &Store) -> Result<PathBuf, ReportError> {
    let runs = Runs::from_study(study, store)?;
    let path = folder.join("runs.csv");
    let mut out = create_file(&path)?;
    write_csv(&runs, &mut out)
        .and_then(|()| out.keep_file())
        .map_err(|error| write_error(&path, error))?;
    #[cfg(feature = "parquet")]
    {
        let path = folder.join("runs.parquet");
        let mut out = create_file(&path)?;
        write_parquet(&runs, &mut out).map_err(|error| write_error(&path, error))?;
        out.keep_file().map_err(|error| write_error(&path, error))?;
    }
    Ok(path)
}

/// The profiles of all stacks that were run.
fn profiles_of<'a>(studies: impl Iterator<Item = &'a Study>) -> Vec<Profile> {
    let used: Vec<Profile> = studies.flat_map(Study::profiles).collect();
    Profile::ALL.into_iter().filter(|profile| used.contains(profile)).collect()
}

/// What an experiment shows beside its verdicts.
struct Exhibits<'a> {
    study: &'a Study,
    report: &'a ExperimentReport,
    evaluator: Evaluator<'a>,
}

impl Exhibits<'_> {
    fn draw_into(&self, folder: &Path) -> Result<Vec<Drawing>, ReportError> {
        let figures = self.study.experiment.figures.iter();
        let drawings =
            figures.map(|figure| self.draw_figure(figure)).collect::<Result<Vec<_>, _>>()?;
        for drawing in &drawings {
            for (n, (_, svg)) in drawing.panels.iter().enumerate() {
                let number = match drawing.panels.len() {
                    1 => String::new(),
                    _ => format!("-{}", n + 1),
                };
                write_text(&folder.join(format!("{}{number}.svg", drawing.name)), svg)?;
            }
        }
        Ok(drawings)
    }

    fn draw_figure(&self, figure: &Figure) -> Result<Drawing, ReportError> {
        let problem = |text: String| self.exhibit_error(format!("figure {}", figure.name), text);
        let shown = if figure.series.is_empty() {
            let claims = &self.study.experiment.claims;
            build_diagrams(figure, &self.evaluator, &self.report.deviations, claims)
                .map_err(|why| problem(why.text().to_owned()))?
        } else {
            vec![time_series(figure, &self.study.observe_run(figure).map_err(problem)?)]
        };
        let mut panels = Vec::new();
        for diagram in shown {
            let drawn = draw_svg(&diagram).map_err(|error| problem(error.to_string()))?;
            panels.push((diagram, drawn));
        }
        let seeds = self.seeds_of(figure);
        Ok(Drawing { name: figure.name.clone(), title: figure.title.clone(), seeds, panels })
    }

    /// First and last: of its grid, or the one that a figure over time shows.
    fn seeds_of(&self, figure: &Figure) -> Option<(u64, u64)> {
        let over_time = !figure.series.is_empty();
        let grid = if over_time { &figure.at.grid } else { &figure.grid };
        let wanted = grid.as_deref().unwrap_or(MAIN);
        let grid = self.study.points.grids.iter().find(|grid| grid.name == wanted)?;
        let (first, last) = (*grid.seeds.first()?, *grid.seeds.last()?);
        let own = figure.seed.unwrap_or(first);
        Some(if over_time { (own, own) } else { (first, last) })
    }

    fn tabulate_into(&self, folder: &Path) -> Result<Vec<Tabulated>, ReportError> {
        let fill = |table: &Table| {
            let problem = |text: &str| self.exhibit_error(format!("table {}", table.name), text);
            tabulate_results(table, &self.evaluator).map_err(|why| problem(why.text()))
        };
        let tables = self.study.experiment.tables.iter();
        let tables = tables.map(fill).collect::<Result<Vec<_>, _>>()?;
        for table in &tables {
            write_text(&folder.join(format!("{}.md", table.name)), &format_markdown(table, 1))?;
        }
        Ok(tables)
    }

    fn exhibit_error(&self, what: String, problem: impl Into<String>) -> ReportError {
        ReportError::Exhibit { experiment: self.report.id.clone(), what, problem: problem.into() }
    }
}

/// An experiment, what became of its claims, and its tables.
type Found<'a> = ((&'a Study, &'a ExperimentReport), &'a Vec<Tabulated>);

/// The pages of the documentation that the tables ask for.
fn write_pages(
    folder: &Path,
    found: &[Found<'_>],
    to: Destination<'_>,
) -> Result<Vec<PathBuf>, ReportError> {
    let command = format!("{} --tables {}", to.command, folder.display());
    let chapter = |((study, report), tables): &Found<'_>| {
        let head = &study.experiment.head;
        let opening = format!("{}\n\n{}", head.question, count_claims(report));
        (head.title.clone(), opening.trim_end().to_owned(), (*tables).clone())
    };
    let chapters: Vec<_> = found.iter().map(chapter).collect();
    let profiles = profiles_of(found.iter().map(|((study, _), _)| *study));
    let mut written = Vec::new();
    for (name, text) in format_pages(&chapters, &command) {
        let path = folder.join(format!("{name}.md"));
        write_text(&path, &seal_page(&text, &profiles, to.commit))?;
        written.push(path);
    }
    let data = format_data(&chapters).map_err(|error| write_error(folder, error))?;
    for (name, bytes) in data {
        write_bytes(&folder.join(format!("{name}.csv")), &bytes)?;
    }
    Ok(written)
}

/// What was found, and what was not: how many claims hold, and which do not.
fn count_claims(report: &ExperimentReport) -> String {
    let claims = &report.claims;
    if claims.is_empty() {
        return String::new();
    }
    let open: Vec<_> = claims.iter().filter(|c| c.finding.verdict != Verdict::Holds).collect();
    let mut text = format!("Of {} claims {} hold.", claims.len(), claims.len() - open.len());
    if !open.is_empty() {
        text.push_str(" The others:\n");
    }
    for claim in open {
        text.push_str(&format!("\n- {}: {}", claim.finding.verdict, claim.title));
    }
    text
}

fn write_text(path: &Path, text: &str) -> Result<(), ReportError> {
    write_bytes(path, text.as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    let mut out = create_file(path)?;
    let written = out.write_all(bytes).and_then(|()| out.keep_file());
    written.map_err(|error| write_error(path, error))
}

/// A file, in a folder that is made where it is missing.
fn create_file(path: &Path) -> Result<Output, ReportError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| Output::create(path)).map_err(|error: io::Error| write_error(path, error))
}

fn write_error(path: &Path, problem: impl ToString) -> ReportError {
    ReportError::File { path: path.to_owned(), problem: problem.to_string() }
}
