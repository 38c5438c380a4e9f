//! Data for stdout.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::failure::Failure;

/// Prints a text. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Prints what need not be text, likewise.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::run_failed(format!("stdout: {error}")))
        }
        _ => Ok(()),
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
