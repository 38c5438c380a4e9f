//! Lines of the files that say who is known and who is let in.

use core::fmt;

/// Bytes of a line, at most.
pub(super) const MAX_LINE: usize = 512;

/// A line that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct TextError {
    /// Its number, from 1.
    pub line: usize,
    why: String,
}

impl TextError {
    pub(super) fn new(line: usize, why: impl fmt::Display) -> Self {
        Self { line, why: why.to_string() }
    }
}

/// A line, and what it says.
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: usize,
    /// As it is.
    pub(super) text: &'a str,
    /// Without its comment, which begins with `#`.
    pub(super) words: &'a str,
}

/// The lines of a text, checked: none too long, no control characters but tabs.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Result<Line<'_>, TextError>> {
    text.lines().enumerate().map(|(index, line)| {
        let number = index.saturating_add(1);
        if line.len() > MAX_LINE {
            let why = format!("{} bytes long; allowed: {MAX_LINE}", line.len());
            return Err(TextError::new(number, why));
        }
        if let Some(control) = line.chars().find(|c| c.is_control() && *c != '\t') {
            let why = format!("has the control character {}", control.escape_unicode());
            return Err(TextError::new(number, why));
        }
        let words = line.split('#').next().unwrap_or_default();
        Ok(Line { number, text: line, words: words.trim() })
    })
}

/// A text of somebody else, fit for an error: in ASCII, and short.
pub(super) fn shown(text: &str) -> String {
    text.escape_default().take(70).collect()
}
