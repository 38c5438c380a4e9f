//! Help: whole on a terminal of the usual size, in colour where that is wanted, and by example.

use crate::stage::{COLOURED, COLOURLESS, NARROW, Stage, Terminal, WIDE, compare, uncoloured};

/// All commands, as the help lists them.
pub(crate) fn commands(stage: &Stage) -> Vec<String> {
    let help = stage.done("--help");
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let entries = list.lines().take_while(|line| !line.is_empty());
    let named = entries.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> =
        named.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert!(names.len() > 10, "{names:?}");
    names.into_iter().filter(|name| name != "help").collect()
}

fn helps(stage: &Stage) -> Vec<(String, String)> {
    let all = commands(stage).into_iter().map(|name| format!("{name} --help"));
    let lines = std::iter::once("--help".to_owned()).chain(all);
    lines.map(|line| (line.clone(), stage.shown(&line, NARROW))).collect()
}

#[test]
fn help_is_the_same_piped_wide_and_without_colour() {
    let stage = Stage::new();
    for (line, shown) in helps(&stage) {
        assert!(shown.contains("\u{1b}["), "{line}: no colours on a terminal");
        let plain = uncoloured(&shown);
        for line in plain.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert_eq!(stage.shown(&line, COLOURED), shown, "{line}");
        assert_eq!(stage.shown(&line, COLOURLESS), plain, "{line}");
        // Lines of more than 80 columns are hard to read however wide the terminal is.
        assert_eq!(uncoloured(&stage.shown(&line, WIDE)), plain, "{line}");
        let mut piped = stage.command(&line);
        let output = piped.env("COLUMNS", "80").output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), plain, "{line}");
    }
}

#[test]
fn every_help_has_an_example_that_is_not_broken() {
    let stage = Stage::new();
    for (line, shown) in helps(&stage) {
        let plain = uncoloured(&shown);
        let (_, examples) = plain.split_once("Example").unwrap_or_else(|| panic!("{line}"));
        let calls = examples.lines().filter(|line| line.starts_with("  polypath"));
        assert!(calls.count() > 0, "{line}: {examples}");
    }
}

/// `INSTA_UPDATE=always cargo test -p polypath-cli --test outputs` writes snapshots anew.
#[test]
fn help_reads_as_it_did() {
    let stage = Stage::new();
    for (line, shown) in helps(&stage) {
        let name = line.replace(" --help", "").replace("--help", "polypath");
        compare(&format!("help-{name}"), &line, &uncoloured(&shown));
    }
    let coloured = stage.shown("policies --help", NARROW);
    compare("help-in-colour", "policies --help", &coloured.replace('\u{1b}', "ESC"));
}

/// A terminal that is narrower than usual breaks lines between words.
#[test]
fn narrow_terminals_break_lines_between_words() {
    let stage = Stage::new();
    let narrow = Terminal { columns: 50, variable: Some("NO_COLOR") };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for name in commands(&stage) {
        let line = format!("{name} --help");
        let both = [NARROW, narrow].map(|size| words(&uncoloured(&stage.shown(&line, size))));
        assert_eq!(both[0], both[1], "{line}");
    }
}
