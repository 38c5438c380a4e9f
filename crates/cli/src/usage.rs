//! A command line that is wrong: one line on stderr, as every error.

use clap::error::ErrorKind;

use crate::failure::Failure;

/// What to say; nothing if it is help or the version that was asked for, which is printed.
pub(crate) fn refuse(error: &clap::Error) -> Failure {
    if is_answer(error.kind()) {
        error.exit();
    }
    Failure::bad_input(one_line(&error.render().to_string()))
}

/// Not an error: it has more than a line.
fn is_answer(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// Puts clap's paragraphs into a line and leaves its usage out, which `--help` shows.
fn one_line(text: &str) -> String {
    let end = text.find("\nUsage:").or_else(|| text.find("\nFor more information"));
    let told = end.map_or(text, |end| &text[..end]);
    let told = told.strip_prefix("error: ").unwrap_or(told);
    let lines = told.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut words = lines.collect::<Vec<_>>().join(" ");
    words = words.replace(" tip: ", "; ");
    // As all errors say it.
    match words.split_once(" [possible values: ") {
        Some((what, values)) => format!("{what} (allowed: {}", values.replacen(']', ")", 1)),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::one_line;
    use crate::args::Args;

    fn refusal(words: &str) -> String {
        let error = Args::try_parse_from(words.split(' ')).unwrap_err();
        one_line(&error.render().to_string())
    }

    #[test]
    fn what_is_wrong_is_one_line_with_what_is_allowed() {
        let unknown = refusal("polypath simulate x --sed 3");
        assert!(unknown.starts_with("unexpected argument '--sed' found; "), "{unknown}");
        assert!(unknown.contains("'--seed'"), "{unknown}");
        let missing = refusal("polypath simulate");
        assert!(missing.ends_with("were not provided: <SCENARIO>"), "{missing}");
        let value = refusal("polypath completions csh");
        assert!(value.starts_with("invalid value 'csh' for '<SHELL>' (allowed: bash, "), "{value}");
        let command = refusal("polypath simulat");
        assert!(command.contains("'simulat'; some similar subcommands exist: "), "{command}");
        for one in [unknown, missing, value, command] {
            assert_eq!(one.lines().count(), 1, "{one}");
        }
    }
}
