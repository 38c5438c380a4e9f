//! Fields by dotted name.

use core::fmt;

use toml::{Table, Value};

/// A field by its place: `path.B.delay`, `flow[0].message`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldPath(Vec<Step>);

/// One step into a table or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl FieldPath {
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    pub(crate) fn descend(&mut self, key: &str) {
        self.0.push(Step::Key(key.to_owned()));
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Reads a dotted name; parts that are empty are left out.
    pub(crate) fn parse_leniently(text: &str) -> Self {
        let parts = text.split(['.', '[', ']']).filter(|part| !part.is_empty());
        Self(parts.map(Step::from_part).collect())
    }

    /// The value at this place.
    pub(crate) fn find_value<'a>(&self, table: &'a Table) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        let Step::Key(key) = first else { return None };
        rest.iter().try_fold(table.get(key)?, |value, step| match (value, step) {
            (Value::Table(table), Step::Key(key)) => table.get(key),
            (Value::Array(list), Step::Index(index)) => list.get(*index),
            _ => None,
        })
    }
}

impl Step {
    fn from_part(part: &str) -> Self {
        part.parse().map_or_else(|_| Self::Key(part.to_owned()), Self::Index)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if place == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
