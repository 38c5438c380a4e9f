//! The words of commands whose results do not change, and of what they refuse.

use crate::stage::{COLOURED, COLOURLESS, NARROW, Stage, WIDE, compare};

/// What is printed where, piped, and the same on every terminal.
fn pin(stage: &Stage, name: &str, line: &str, shorten: impl Fn(&str) -> String) {
    let printed = stage.piped(line);
    // Terminals get both; which came first says nothing where both were written.
    if printed.out.is_empty() || printed.talk.is_empty() {
        let both = printed.out.clone() + &printed.talk;
        for terminal in [NARROW, WIDE, COLOURLESS, COLOURED] {
            assert_eq!(stage.left(line, terminal), both, "{line} at {terminal:?}");
        }
    }
    let code = printed.code.unwrap();
    let text = format!("{}--- stderr\n{}--- exit {code}", printed.out, printed.talk);
    compare(name, line, &shorten(&text));
}

fn whole(text: &str) -> String {
    text.to_owned()
}

/// Figures of the profile `fast` change with every improvement of it.
fn without_figures(text: &str) -> String {
    text.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect()
}

/// The first lines: the rest grows, and is elsewhere.
fn begin(text: &str) -> String {
    text.lines().take(12).map(|line| format!("{line}\n")).collect()
}

#[test]
fn lists_read_as_they_did() {
    let stage = Stage::new();
    pin(&stage, "policies", "policies", begin);
    pin(&stage, "metrics", "metrics", begin);
    pin(&stage, "examples", "examples", begin);
    pin(&stage, "example", "examples two-equal-paths", whole);
    pin(&stage, "init", "init", whole);
    pin(&stage, "schema", "schema examples", whole);
    pin(&stage, "completions", "completions bash", begin);
}

#[test]
fn runs_read_as_they_did() {
    let stage = Stage::new();
    pin(&stage, "simulate", "simulate tiny.toml --quiet", whole);
    pin(&stage, "simulate-json", "simulate tiny.toml --quiet --json", begin);
    pin(&stage, "demo", "demo noise.bin --quiet", without_figures);
}

#[test]
fn tables_and_figures_read_as_they_did() {
    let stage = Stage::new();
    let sweep = "sweep tiny.toml --axis path.B.loss=0%,2% --seeds 2 --quiet";
    pin(&stage, "sweep", sweep, whole);
    pin(&stage, "sweep-markdown", &format!("{sweep} --format markdown"), whole);
    pin(&stage, "sweep-axes", &format!("{sweep} --axis stack.sfr=true,false"), whole);
    stage.done(sweep);
    std::fs::copy(stage.path("results/tiny/runs.csv"), stage.path("runs.csv")).unwrap();
    let csv = "--format csv";
    pin(&stage, "compare", "compare runs.csv runs.csv", whole);
    pin(&stage, "compare-csv", &format!("compare runs.csv runs.csv {csv}"), whole);
    pin(&stage, "plot", "plot runs.csv --x path.B.loss", begin);
}

#[test]
fn claims_read_as_they_did() {
    let stage = Stage::new();
    let one = "reproduce T-one --scenarios papers --quiet";
    pin(&stage, "reproduce-check", &format!("{one} --check"), whole);
    pin(&stage, "reproduce", &format!("{one} --quick"), whole);
}

#[test]
fn populations_read_as_they_did() {
    let stage = Stage::new();
    let few = "population --packets 2000 --schedulers none --quiet";
    pin(&stage, "population", &format!("{few} --draws 3 --resume"), without_figures);
    pin(&stage, "population-draw", &format!("{few} --draw 1"), without_figures);
}

/// One line on stderr, nothing on stdout, and a code that says whose fault it is.
#[test]
fn errors_read_as_they_did() {
    let stage = Stage::new();
    stage.write("broken.toml", "[path.A\nrate = 5\n");
    stage.write("odd.toml", "[path.A]\nrat = '1Mbit/s'\n");
    let lines = [
        ("no-command", "simulat"),
        ("no-option", "simulate tiny.toml --sed 3"),
        ("no-argument", "simulate"),
        ("no-value", "simulate tiny.toml --seed"),
        ("bad-value", "simulate tiny.toml --seed few"),
        ("bad-choice", "schema simulat"),
        ("conflict", "examples lte-wifi --write here"),
        ("no-file", "simulate nothing.toml"),
        ("broken-file", "simulate broken.toml"),
        ("odd-field", "simulate odd.toml"),
        ("odd-set", "simulate tiny.toml --set path.A.delay=45"),
        ("no-policy", "simulate tiny.toml --set stack.path-scheduler=min-rt"),
        ("no-example", "examples lte-wify"),
        ("no-experiment", "reproduce S0-F44"),
        ("no-folder", "simulate tiny.toml --pcap no/run.pcapng"),
        ("two-to-stdout", "simulate tiny.toml --pcap - --json"),
        ("no-scheduler", "population --schedulers best --draws 1"),
        ("there-already", "init tiny.toml"),
    ];
    let mut all = String::new();
    for (name, line) in lines {
        let printed = stage.piped(line);
        assert_eq!(printed.out, "", "{line}");
        assert_eq!(printed.talk.lines().count(), 1, "{line}: {}", printed.talk);
        assert!(printed.talk.starts_with("polypath: "), "{line}: {}", printed.talk);
        for terminal in [NARROW, COLOURED] {
            assert_eq!(stage.left(line, terminal), printed.talk, "{line} at {terminal:?}");
        }
        let code = printed.code.unwrap();
        // Lists of what is allowed grow.
        let told: String = printed.talk.trim_end().chars().take(150).collect();
        all += &format!("{name}: polypath {line}\n{told}\nexit {code}\n\n");
    }
    compare("errors", "...", &all);
}

/// A bare `polypath` explains itself.
#[test]
fn without_a_command_there_is_help() {
    let stage = Stage::new();
    let bare = std::process::Command::new(env!("CARGO_BIN_EXE_polypath")).output().unwrap();
    assert_eq!(bare.status.code(), Some(2));
    let told = String::from_utf8(bare.stderr).unwrap();
    for command in crate::help::commands(&stage) {
        assert!(told.contains(&format!("  {command} ")), "{command}: {told}");
    }
}
