//! How long, how often, and over which settings.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Delay;

/// Settling, measuring, end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TimeSpec {
    /// From the start of the run until statistics count. Absent: 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Delay>,
    /// How long statistics count; the run ends then. Needed when a flow has no end of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Delay>,
    /// The latest end of a run whose flows all end by themselves. Absent: 1h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Delay>,
    /// Record windows and buffers every so often. Absent: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Delay>,
}

/// What runs end with when nothing else is said: an hour of simulated time.
const LATEST_END: Delay = Delay(3_600_000_000_000);

impl TimeSpec {
    /// The latest end of a run.
    pub fn last_moment(&self) -> Delay {
        let Delay(settle) = self.settle.unwrap_or_default();
        let measured = self.measure.map(|Delay(ns)| Delay(settle.saturating_add(ns)));
        measured.or(self.end).unwrap_or(LATEST_END)
    }
}

/// Seeds of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Seeds {
    /// The first seed; `simulate` uses it alone.
    pub first: u64,
    /// How many seeds a sweep uses, counted up from the first.
    pub count: u32,
}

impl Default for Seeds {
    fn default() -> Self {
        Self { first: 1, count: 1 }
    }
}

/// One axis of a sweep: `set` with `values` or `range`, or `cases`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Axis {
    /// Name in results. Absent: the first field of `set`, or "case".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Dotted names of the fields that take the value, such as path.B.delay; several move together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The values in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Scalar>,
    /// First..last/step with units, such as 10ms..100ms/10ms; both ends belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Named settings in turn, to compare what differs in more than a value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
}

/// A value of a field: text, whole number, switch or list of texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A switch.
    Switch(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
    /// A list of texts, such as the paths of a flow.
    List(Vec<String>),
}

impl Scalar {
    /// The value as a scenario file has it.
    #[must_use]
    pub fn to_toml(&self) -> toml::Value {
        let text = |text: &String| toml::Value::String(text.clone());
        match self {
            Self::Switch(switch) => toml::Value::Boolean(*switch),
            Self::Number(number) => toml::Value::Integer(*number),
            Self::Text(value) => text(value),
            Self::List(values) => toml::Value::Array(values.iter().map(text).collect()),
        }
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Switch(switch) => switch.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::List(values) => f.write_str(&values.join("+")),
        }
    }
}

/// A named group of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// Name in results.
    pub label: String,
    /// Fields by dotted name, and their values.
    pub set: IndexMap<String, Scalar>,
}
