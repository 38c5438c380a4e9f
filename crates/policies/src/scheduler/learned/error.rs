//! What is wrong with a file of `learned`.

/// As much of a value as an error shows.
const SHOWN: usize = 200;

/// Why a text is no network. One line: the field, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnedError {
    /// It is no JSON, lacks a field or has one too many, or a value is of another type.
    #[error("{field}: {problem}")]
    Json {
        /// Where, as `layers[1].bias`; `.` is the whole.
        field: String,
        /// What is wrong there.
        problem: String,
    },
    /// A field does not take this value.
    #[error("{field} is {value}; allowed: {allowed}")]
    Value {
        /// Which, as `layers[1].bias[3]`.
        field: String,
        /// Its value as given, or what is to be said of it.
        value: String,
        /// What it takes.
        allowed: String,
    },
}

impl LearnedError {
    pub(super) fn json(field: &str, problem: &str) -> Self {
        Self::Json { field: one_line(field), problem: one_line(problem) }
    }

    pub(super) fn value(field: &str, value: &str, allowed: &str) -> Self {
        let (field, value, allowed) = (field.to_owned(), one_line(value), allowed.to_owned());
        Self::Value { field, value, allowed }
    }
}

/// Text of the file, fit to be shown: short, and nothing that moves a cursor.
fn one_line(text: &str) -> String {
    text.chars().take(SHOWN).map(|c| if c.is_control() { '?' } else { c }).collect()
}
