//! A scenario's text: reading it, changing it, and saying where in it something is wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_path_to_error::Segment;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::check::check;
use crate::error::{Problem, ScenarioError};
use crate::field_path::{FieldPath, Step};
use crate::files::Files;
use crate::plan::Axis;
use crate::policies::Policies;
use crate::renamed;
use crate::scenario::Scenario;
use crate::set::{Assignment, AssignmentError};

/// Values longer than this are left out of messages.
const SHOWN_VALUE: usize = 60;

/// A scenario's text with the assignments made on top of it.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    table: Table,
    /// Places that an assignment has set, and who made it.
    assigned: Vec<(FieldPath, String)>,
    /// What was said in words of before.
    hints: Vec<String>,
    /// The files that the text names.
    files: Arc<dyn Files>,
    /// What the names of policies stand for.
    policies: Policies,
    /// The same with the files of the scenario's folder, once it was asked for: the scenarios of a
    /// sweep share it.
    beside: OnceLock<Policies>,
}

impl Source {
    /// Takes a text that names no other files; `name` stands for the file in messages.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Self, ScenarioError> {
        Self::with_files(name, text, Arc::new(BTreeMap::<PathBuf, String>::new()))
    }

    /// Takes a text; `files` has what it names, relative to the folder of `name`.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn with_files(
        name: impl Into<String>,
        text: impl Into<String>,
        files: Arc<dyn Files>,
    ) -> Result<Self, ScenarioError> {
        let (name, text) = (name.into(), text.into());
        match text.parse::<Table>() {
            Ok(mut table) => {
                let hints = renamed::modernize_words(&mut table);
                let (assigned, policies) = (Vec::new(), Policies::default());
                let beside = OnceLock::new();
                Ok(Self { name, text, table, assigned, hints, files, policies, beside })
            }
            Err(error) => {
                let line = error.span().map(|span| line_of(&text, span.start));
                // The place has no dotted name yet; the line itself says where it is.
                let content = line.and_then(|line| text.lines().nth(line.saturating_sub(1)));
                let field = content.map(str::trim).filter(|text| text.len() <= SHOWN_VALUE);
                Err(ScenarioError {
                    line,
                    field: field.unwrap_or_default().to_owned(),
                    ..ScenarioError::of_file(name, error.message().replace('\n', ", "))
                })
            }
        }
    }

    /// The same with other policies to name.
    #[must_use]
    pub fn with_policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self.beside = OnceLock::new();
        self
    }

    /// The same, whose files `wrap` makes of those it has.
    #[must_use]
    pub fn wrap_files(mut self, wrap: impl FnOnce(Arc<dyn Files>) -> Arc<dyn Files>) -> Self {
        self.files = wrap(self.files);
        self.beside = OnceLock::new();
        self
    }

    /// Sets a field, over what the file says.
    ///
    /// # Errors
    /// When the field's name leads nowhere. Unknown fields and bad values show in
    /// [`parse_scenario`](Self::parse_scenario).
    pub fn set_field(&mut self, assignment: &Assignment) -> Result<(), AssignmentError> {
        self.set_by("--set", assignment)
    }

    /// Like [`set_field`](Self::set_field), on behalf of `origin`, which messages then name.
    ///
    /// # Errors
    /// See [`set_field`](Self::set_field).
    pub fn set_by(&mut self, origin: &str, assignment: &Assignment) -> Result<(), AssignmentError> {
        let place = assignment.apply_to(&mut self.table)?;
        self.hints.extend(renamed::modernize_words(&mut self.table));
        self.assigned.push((place, origin.to_owned()));
        Ok(())
    }

    /// Replaces the axes of the scenario.
    ///
    /// # Errors
    /// When an axis has no TOML form; those that were read from one have.
    pub fn set_axes(&mut self, axes: &[Axis]) -> Result<(), ScenarioError> {
        let values = axes.iter().map(Value::try_from).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|error| self.problem("sweep", error.to_string()))?;
        let origin = self.name().to_owned();
        let set = self.set_by(&origin, &Assignment::new("sweep", Value::Array(values)));
        set.map_err(|error| self.problem("sweep", error.to_string()))
    }

    /// The scenario, checked.
    ///
    /// # Errors
    /// The first field that is unknown, malformed or makes no sense.
    pub fn parse_scenario(&self) -> Result<Scenario, ScenarioError> {
        let scenario = self.parse_and_check().and_then(|mut scenario| {
            let beside = || self.policies.beside(&self.files, self.folder());
            scenario.policies = self.beside.get_or_init(beside).clone();
            self.load_traces(&mut scenario)?;
            check(&scenario)?;
            Ok(scenario)
        });
        scenario.map_err(|problem| self.locate_problem(problem))
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The words of before that the text uses, each with the word of today; they go on to work for
    /// one release.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The text with its assignments, as TOML.
    pub fn resolved(&self) -> String {
        self.table.to_string()
    }

    fn parse_and_check(&self) -> Result<Scenario, Problem> {
        let mut track = serde_path_to_error::Track::new();
        let values = Value::Table(self.table.clone());
        let deserializer = serde_path_to_error::Deserializer::new(values, &mut track);
        Scenario::deserialize(deserializer)
            .map_err(|error| Problem::from_serde(field_path(&track.path()), error.message()))
    }

    /// Loads the files that the scenario names, relative to its own.
    fn load_traces(&self, scenario: &mut Scenario) -> Result<(), Problem> {
        for (place, spec) in scenario.link_tables() {
            for (table, trace) in spec.traces_mut() {
                let problem = |text| Problem::new(format!("{place}{table}.trace"), text);
                trace.load_text(self.files.as_ref(), self.folder()).map_err(problem)?;
            }
        }
        Ok(())
    }

    fn folder(&self) -> &Path {
        Path::new(&self.name).parent().unwrap_or(Path::new(""))
    }

    /// An error about `field`.
    pub fn problem(&self, field: &str, text: impl Into<String>) -> ScenarioError {
        self.locate_problem(Problem::new(field, text))
    }

    /// Adds to a problem where it stands and what stands there.
    fn locate_problem(&self, problem: Problem) -> ScenarioError {
        let assigned = self.assigned.iter().rev().find(|(field, _)| *field == problem.field);
        let value = problem.field.find_value(&self.table).filter(|value| !value.is_table());
        let (origin, line) = match assigned {
            Some((_, origin)) => (origin.clone(), None),
            None => (self.name.clone(), self.find_line(&problem.field)),
        };
        ScenarioError {
            origin,
            line,
            field: problem.field.to_string(),
            value: value.map(Value::to_string).filter(|text| text.len() <= SHOWN_VALUE),
            problem: problem.text,
        }
    }

    /// The line of the field's key, or of the nearest table around it that has one.
    fn find_line(&self, field: &FieldPath) -> Option<usize> {
        let root = DeTable::parse(&self.text).ok()?;
        let mut offset = None;
        let mut here: Option<&DeValue<'_>> = None;
        for step in field.steps() {
            let next = match (step, here) {
                (Step::Key(key), None) => root.get_ref().get_key_value(key.as_str()),
                (Step::Key(key), Some(DeValue::Table(table))) => table.get_key_value(key.as_str()),
                (Step::Index(index), Some(DeValue::Array(list))) => {
                    let item = list.get(*index);
                    offset = item.map(|item| item.span().start).or(offset);
                    here = item.map(Spanned::get_ref);
                    if item.is_some() { continue } else { break }
                }
                _ => None,
            };
            let Some((key, value)) = next else { break };
            offset = Some(key.span().start);
            here = Some(value.get_ref());
        }
        offset.map(|offset| line_of(&self.text, offset))
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn field_path(path: &serde_path_to_error::Path) -> FieldPath {
    let mut field = FieldPath::default();
    for segment in path {
        match segment {
            Segment::Map { key } => field.descend(key),
            Segment::Seq { index } => field.push(Step::Index(*index)),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    field
}
