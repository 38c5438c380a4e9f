//! What is wrong with a scenario, in one line.

use core::fmt::{self, Write as _};

use polypath_policies::did_you_mean;

use crate::field_path::FieldPath;

/// What is wrong with a scenario: one line that names the file, the field, its value and what is
/// allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// File name, or `--set`.
    pub origin: String,
    /// Line in the file, from 1, when it is known.
    pub line: Option<usize>,
    /// The field's dotted name; empty when the whole file is meant.
    pub field: String,
    /// The field's value as TOML, when it is short enough for a line.
    pub value: Option<String>,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

impl ScenarioError {
    /// A problem of the whole file `origin`.
    pub fn of_file(origin: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            origin: origin.into(),
            line: None,
            field: String::new(),
            value: None,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", OneLine(&self.origin))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", OneLine(&self.field))?;
        }
        if let Some(value) = &self.value {
            write!(f, " = {}", OneLine(value))?;
        }
        write!(f, ": {}", OneLine(&self.problem))
    }
}

/// A text in one line: what would move the cursor, or do worse to a terminal, is escaped.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

/// A field and what is wrong with it; the source adds where it stands and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) field: FieldPath,
    pub(crate) text: String,
}

impl Problem {
    /// A problem of the field with the dotted name `field`.
    pub(crate) fn new(field: impl AsRef<str>, text: impl Into<String>) -> Self {
        Self { field: FieldPath::parse_leniently(field.as_ref()), text: text.into() }
    }

    /// The problem that serde reports at `at`, in our words.
    pub(crate) fn from_serde(mut at: FieldPath, message: &str) -> Self {
        let message = message.lines().next().unwrap_or_default();
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let (Some(given), allowed) = (quoted.first(), quoted.get(1..).unwrap_or_default()) else {
            return Self { field: at, text: find_expectation(message) };
        };
        let text = if message.starts_with("unknown field") {
            format!("unknown field{}", suggest_names(given, allowed))
        } else if message.starts_with("unknown variant") {
            format!("unknown value{}", suggest_names(given, allowed))
        } else if message.starts_with("missing field") {
            at.descend(given);
            "missing (it has no default)".to_owned()
        } else {
            find_expectation(message)
        };
        Self { field: at, text }
    }
}

/// Refuses `field` with `text` unless `holds`.
pub(crate) fn ensure(
    holds: bool,
    field: impl FnOnce() -> String,
    text: impl FnOnce() -> String,
) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err(Problem::new(field(), text())) }
}

/// "; did you mean X? (allowed: X, Y, Z)"
fn suggest_names(given: &str, allowed: &[&str]) -> String {
    let hint = did_you_mean(given, allowed.iter().copied());
    let allowed = if allowed.is_empty() { "there are none".into() } else { allowed.join(", ") };
    format!("{hint} (allowed: {allowed})")
}

/// Like [`suggest_names`], for names that the scenario itself gives.
pub(crate) fn unknown_name<'a>(
    what: &str,
    given: &str,
    allowed: impl Iterator<Item = &'a str>,
) -> String {
    let allowed: Vec<&str> = allowed.collect();
    format!("unknown {what} {given:?}{}", suggest_names(given, &allowed))
}

/// "invalid type: string "x", expected u16" without its first half, since the value stands beside
/// it anyway.
fn find_expectation(message: &str) -> String {
    let Some((_, expected)) = message.split_once("expected ") else { return message.to_owned() };
    let expected = match expected {
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "i64" => "a whole number",
        "a boolean" => "true or false",
        "a string" | "string only" => "a text in quotes",
        "a sequence" => "a list in brackets",
        other if other.starts_with("struct ") || other == "a map" => "a table",
        other => other,
    };
    format!("expected {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_cannot_break_the_line_or_reach_the_terminal() {
        let error = ScenarioError {
            origin: "a\nb.toml".into(),
            line: Some(3),
            field: "[pat\rh.A]".into(),
            value: Some("\u{1b}[2J".into()),
            problem: "unclosed".into(),
        };
        assert_eq!(error.to_string(), r"a\nb.toml:3: [pat\rh.A] = \u{1b}[2J: unclosed");
    }
}
