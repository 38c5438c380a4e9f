//! Scenario files and `--set` assignments of any kind: no panic, every error is one line, and what is accepted is accepted again as it is
//! written back.
//!
//! Lines behind the first NUL are assignments.

#![no_main]

use libfuzzer_sys::fuzz_target;
use polypath_scenario::{Assignment, Source};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = core::str::from_utf8(data) else { return };
    // Traces are other files.
    if text.contains("trace") {
        return;
    }
    let (text, assignments) = text.split_once('\0').unwrap_or((text, ""));
    let mut source = match Source::new("fuzz.toml", text) {
        Ok(source) => source,
        Err(error) => return check_line(&error.to_string()),
    };
    for line in assignments.lines().take(20) {
        match line.parse::<Assignment>() {
            Err(error) => check_line(&error.to_string()),
            Ok(assignment) => {
                if let Err(error) = source.set_field(&assignment) {
                    check_line(&error.to_string());
                }
            }
        }
    }
    match source.parse_scenario() {
        Err(error) => check_line(&error.to_string()),
        Ok(scenario) => {
            let again = Source::new("again.toml", source.resolved()).expect("it was TOML");
            let again = again.parse_scenario().map(|again| format!("{again:?}"));
            assert_eq!(again.map_err(|error| error.to_string()), Ok(format!("{scenario:?}")));
        }
    }
});

fn check_line(message: &str) {
    assert!(!message.trim().is_empty(), "an error without a word");
    assert!(!message.contains(char::is_control), "{message:?} is not one line");
}
