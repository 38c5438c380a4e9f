//! Data for stdout.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::failure::Failure;

/// Prints a text. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// What lists are folded to: help fits it, too.
const COLUMNS: usize = 80;
/// An explanation that began further to the right would be a narrow column.
const FURTHEST: usize = 44;

/// Prints a list whose entries are lines, each folded to 80 columns under where its explanation
/// begins: after the first gap of two spaces, or four columns in.
pub(crate) fn print_list(text: &str) -> Result<(), Failure> {
    let folded: Vec<String> = text.lines().map(fold_entry).collect();
    print_text(&(folded.join("\n") + "\n"))
}

fn fold_entry(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let gap = line[indent..].find("  ").map(|gap| indent + gap);
    let under_gap = gap.map(|gap| line.len() - line[gap..].trim_start().len());
    let hang = under_gap.filter(|column| *column <= FURTHEST).unwrap_or(indent + 4);
    let hang = " ".repeat(hang);
    textwrap::fill(
        line,
        textwrap::Options::new(COLUMNS).subsequent_indent(&hang).break_words(false),
    )
}

/// Prints what need not be text, likewise.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    write_out(bytes).map(drop)
}

/// Prints a text; whether there is still a reader who may want more.
pub(crate) fn print_to_reader(text: &str) -> Result<bool, Failure> {
    write_out(text.as_bytes())
}

fn write_out(bytes: &[u8]) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::run_failed(format!("stdout: {error}"))),
    }
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut json = serde_json::to_string(value).map_err(Failure::run_failed)?;
    json.push('\n');
    print_text(&json)
}

/// Prints a value as JSON, with a newline at the end.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut json = serde_json::to_string_pretty(value).map_err(Failure::run_failed)?;
    json.push('\n');
    print_text(&json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_folded_under_their_explanation() {
        let line = format!("  rr         {}", "round robin ".repeat(10));
        let folded = fold_entry(line.trim_end());
        assert!(folded.lines().count() == 2 && folded.lines().all(|line| line.len() <= 80));
        let hang = |line: &str| line.len() - line.trim_start().len();
        assert_eq!(folded.lines().nth(1).map(hang), Some(13));
        let far = format!("  {}  {}", "x".repeat(50), "why ".repeat(20));
        assert!(
            fold_entry(far.trim_end()).lines().nth(1).is_some_and(|l| l.starts_with("      why"))
        );
        assert_eq!(fold_entry("short"), "short");
        assert_eq!(fold_entry(""), "");
    }
}
