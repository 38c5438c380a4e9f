//! Reading experiment files, and finding them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use polypath_scenario::{Files, ScenarioError, Source};
use serde::Deserialize as _;

use super::file::File;
use super::paper::{LONGEST_NAME, Paper};
use super::{Experiment, Head, Runs, Variant};
use crate::disk::Disk;

/// The line that divides the scenario from the rest.
const DIVIDER: &str = "[experiment]";

impl Experiment {
    /// An experiment without claims, for a scenario's own sweep.
    pub fn from_scenario(scenario: Source) -> Self {
        let title = scenario.name().to_owned();
        Self {
            head: Head { id: title.clone(), title, ..Head::default() },
            file: PathBuf::new(),
            files: Arc::new(Disk),
            paper: None,
            claims: Vec::new(),
            figures: Vec::new(),
            tables: Vec::new(),
            references: Vec::new(),
            alternatives: Vec::new(),
            text: scenario.clone(),
            runs: Runs {
                scenario,
                grids: Vec::new(),
                skip: Vec::new(),
                quick: super::Quick::default(),
            },
        }
    }

    /// Reads a file of this machine, and the one whose runs it uses.
    ///
    /// # Errors
    /// What cannot be read, is unknown, or makes no sense, in one line.
    pub fn from_file(path: &Path) -> Result<Self, ScenarioError> {
        Self::from_files(Arc::new(Disk), path)
    }

    /// Reads one of these files, and those that it names.
    ///
    /// # Errors
    /// What cannot be read, is unknown, or makes no sense, in one line.
    pub fn from_files(files: Arc<dyn Files>, path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = files
            .text(path)
            .map_err(|error| ScenarioError::of_file(&name, format!("cannot be read: {error}")))?;
        let (mut experiment, upper) = Self::parse_alone(&name, path, &text, &files)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        experiment.paper = Paper::of_folder(files.as_ref(), folder)?;
        experiment.check_claims()?;
        let Some(other) = &experiment.head.runs_of else {
            experiment.expand_grids(&Variant::default())?;
            return Ok(experiment);
        };
        if upper.lines().any(|line| !line.trim().is_empty() && !line.trim().starts_with('#')) {
            let text = "beside a scenario of its own (allowed: nothing above [experiment])";
            return Err(experiment.field_error("experiment.runs-of", text));
        }
        let base = Self::from_files(files, &folder.join(other))?;
        let mut runs = base.runs;
        runs.grids.extend(experiment.runs.grids.clone());
        let merged = Self { runs, ..experiment };
        merged.expand_grids(&Variant::default())?;
        Ok(merged)
    }

    /// Claims have names that fit into tables, and those of papers say what the paper prints.
    fn check_claims(&self) -> Result<(), ScenarioError> {
        for (n, claim) in self.claims.iter().enumerate().filter(|_| self.paper.is_some()) {
            let length = claim.name().chars().count();
            if length > LONGEST_NAME {
                let text = format!(
                    "{length} characters (allowed: {LONGEST_NAME}; or a title of at most so many)"
                );
                return Err(self.field_error(&format!("claim[{n}].says"), &text));
            }
            if claim.paper.0.is_empty() {
                let text = "missing (allowed: the paper's figure, or none with the reason)";
                return Err(self.field_error(&format!("claim[{n}].paper"), text));
            }
        }
        Ok(())
    }

    /// The file alone, and the text above the divider.
    fn parse_alone(
        name: &str,
        path: &Path,
        text: &str,
        files: &Arc<dyn Files>,
    ) -> Result<(Self, String), ScenarioError> {
        let (upper, lower) = split_halves(text);
        let scenario = Source::with_files(name, upper.clone(), Arc::clone(files))?;
        let text = Source::with_files(name, lower, Arc::clone(files))?;
        let file = parse_file(&text)?;
        check_unique_names(&text, &file)?;
        let runs = Runs {
            scenario,
            grids: file.grid,
            skip: file.experiment.skip.clone(),
            quick: file.experiment.quick.clone(),
        };
        let experiment = Self {
            head: file.experiment,
            file: path.to_owned(),
            files: Arc::clone(files),
            paper: None,
            claims: file.claim,
            figures: file.figure,
            tables: file.table,
            references: file.reference,
            alternatives: file.alternative,
            runs,
            text,
        };
        Ok((experiment, upper))
    }
}

/// Experiment files below a folder, by name. Files without an `[experiment]` are plain scenarios.
///
/// # Errors
/// When the folder cannot be read.
pub fn find_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(find_files(&path)?);
        } else if std::fs::read_to_string(&path).is_ok_and(|text| is_experiment(&path, &text)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a file holds an experiment.
pub fn is_experiment(path: &Path, text: &str) -> bool {
    path.extension().is_some_and(|ending| ending == "toml") && find_divider(text).is_some()
}

/// Both halves; blank lines stand for the other half, so that line numbers stay.
fn split_halves(text: &str) -> (String, String) {
    let at = find_divider(text).unwrap_or(text.len());
    let (upper, lower) = text.split_at(at);
    let blank = "\n".repeat(upper.bytes().filter(|byte| *byte == b'\n').count());
    (upper.to_owned(), blank + lower)
}

fn find_divider(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(DIVIDER) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

fn parse_file(source: &Source) -> Result<File, ScenarioError> {
    let table: toml::Table = source.resolved().parse().map_err(|error: toml::de::Error| {
        source.problem("", error.message().replace('\n', ", "))
    })?;
    let mut track = serde_path_to_error::Track::new();
    let values = toml::Value::Table(table);
    let deserializer = serde_path_to_error::Deserializer::new(values, &mut track);
    File::deserialize(deserializer).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default().replace('`', "");
        source.problem(&track.path().to_string(), message)
    })
}

/// Names that must differ do.
fn check_unique_names(source: &Source, file: &File) -> Result<(), ScenarioError> {
    let lists: [(&str, &str, Vec<&str>); 5] = [
        ("grid", "name", file.grid.iter().map(|grid| grid.name.as_str()).collect()),
        ("claim", "id", file.claim.iter().map(|claim| claim.id.as_str()).collect()),
        ("figure", "name", file.figure.iter().map(|figure| figure.name.as_str()).collect()),
        ("table", "name", file.table.iter().map(|table| table.name.as_str()).collect()),
        ("alternative", "name", file.alternative.iter().map(|a| a.name.as_str()).collect()),
    ];
    for (list, field, names) in lists {
        for (n, name) in names.iter().enumerate() {
            let place = format!("{list}[{n}].{field}");
            if name.is_empty() {
                return Err(source.problem(&place, "empty (allowed: a unique name)"));
            }
            if names.iter().take(n).any(|other| other == name) {
                return Err(source.problem(&place, format!("another {list} has this {field}")));
            }
        }
    }
    Ok(())
}
