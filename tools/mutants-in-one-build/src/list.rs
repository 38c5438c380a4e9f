//! The list of `cargo mutants`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

/// A line and a column, both from 1.
pub type Position = (usize, usize);

/// One change of one place.
pub struct Mutant {
    /// Its place in the list, from 0: what the environment variable says.
    pub number: usize,
    /// Relative to the workspace.
    pub file: String,
    pub name: String,
    pub genre: Genre,
    pub start: Position,
    pub end: Position,
    pub replacement: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Genre {
    /// A function returns something at once.
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// Reads the list.
pub fn read(path: &str) -> Result<Vec<Mutant>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let list: Vec<Value> = serde_json::from_str(&text)
        .with_context(|| format!("{path} is no list of `cargo mutants --list --json`"))?;
    list.iter().enumerate().map(|(number, value)| mutant(number, value)).collect()
}

fn mutant(number: usize, value: &Value) -> Result<Mutant> {
    let text = |key: &str| value[key].as_str().map(str::to_owned).context(format!("no {key}"));
    let genre = match value["genre"].as_str() {
        Some("FnValue") => Genre::FnValue,
        Some("BinaryOperator") => Genre::BinaryOperator,
        Some("UnaryOperator") => Genre::UnaryOperator,
        Some("MatchArm") => Genre::MatchArm,
        Some("MatchArmGuard") => Genre::MatchArmGuard,
        Some("StructField") => Genre::StructField,
        other => anyhow::bail!("unknown genre {other:?}"),
    };
    Ok(Mutant {
        number,
        file: text("file")?,
        name: text("name")?,
        genre,
        start: position(&value["span"]["start"])?,
        end: position(&value["span"]["end"])?,
        replacement: text("replacement")?,
    })
}

fn position(value: &Value) -> Result<Position> {
    let number = |key: &str| value[key].as_u64().context("no position").map(|n| n as usize);
    Ok((number("line")?, number("column")?))
}
