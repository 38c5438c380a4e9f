//! What `polypath simulate` and `polypath reproduce` find out, hashed: see
//! `polypath_testkit::fingerprint`.
//!
//! Runs are told apart by profile, so that who improves `fast` renews that part alone. By hand,
//! with the claims of all experiments (the better part of an hour) or of some (`S1-F2,S4-F4`), and
//! with another build of the program:
//!
//! ```text
//! cargo build --release
//! POLYPATH_FINGERPRINT=all POLYPATH_PROGRAM=$PWD/target/release/polypath \
//!     cargo test --test fingerprint
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use polypath_testkit::fingerprint::{Digest, Lines, compare_part, compare_some, name_run};
use serde_json::Value;

/// Words of today's results, each with the word that stood in its place when the fingerprint was
/// first taken: what is only renamed has not changed.
const RENAMED: [(&str, &str); 4] = [
    ("duplicate_chunks", "spurious"),
    ("path_silences", "suspicions"),
    ("duplicate-chunks", "spurious"),
    ("path-silences", "suspicions"),
];
/// Seeds of each example as it is; with another profile it runs with the first of them.
const SEEDS: [u64; 3] = [1, 2, 3];
const PROFILES: [&str; 3] = ["fast", "paper", "ns2"];
/// Experiments whose claims are judged every time: a few seconds.
const JUDGED: [&str; 3] = ["S1-V3", "S1-VD-failure", "S3-F2-formulas"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the program prints as JSON.
fn json(arguments: &[&str]) -> Value {
    let program = std::env::var_os("POLYPATH_PROGRAM");
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_polypath").into());
    let output = Command::new(program).current_dir(root()).args(arguments).arg("--json").output();
    let output = output.expect("the program starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {talk}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The word that was used at first.
fn original(word: &str) -> &str {
    RENAMED.iter().find(|(now, _)| *now == word).map_or(word, |(_, first)| first)
}

/// Every value below `value` with the words that lead to it.
fn flatten(value: &Value, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                flatten(field, &format!("{place}.{}", original(key)), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, &format!("{place}.{index}"), found);
            }
        }
        Value::String(text) => found.push((place.to_owned(), original(text).to_owned())),
        other => found.push((place.to_owned(), other.to_string())),
    }
}

/// The hash of a value, whatever the order of its fields.
fn hash(value: &Value) -> String {
    let mut values = Vec::new();
    flatten(value, "", &mut values);
    values.sort();
    let mut digest = Digest::new();
    for (place, value) in values {
        digest.add_bytes(place.as_bytes());
        digest.add_bytes(value.as_bytes());
    }
    digest.to_hex()
}

/// The hash of a run's result, and of what it reached of its bounds; the scenario, which is printed
/// beside them, is not its doing.
fn simulate(file: &str, seed: u64, profile: Option<&str>) -> String {
    let seed = seed.to_string();
    let file = format!("scenarios/examples/{file}");
    let mut arguments = vec!["simulate", &file, "--seed", &seed];
    let set = profile.map(|profile| format!("stack.profile={profile}"));
    arguments.extend(set.iter().flat_map(|set| ["--set", set.as_str()]));
    let mut report = json(&arguments);
    report.as_object_mut().expect("a report").remove("scenario");
    hash(&report)
}

/// All examples, each with its profile.
fn examples() -> Vec<(String, &'static str)> {
    let folder = std::fs::read_dir(root().join("scenarios/examples")).expect("examples").flatten();
    let files = folder.map(|entry| entry.path()).filter(|path| path.extension().is_some());
    let mut examples: Vec<_> = files
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("readable");
            let names = |profile: &&&str| text.contains(&format!("profile = \"{profile}\""));
            let profile = PROFILES.iter().find(names).copied().unwrap_or("paper");
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), profile)
        })
        .collect();
    examples.sort();
    examples
}

fn compare_profile(profile: &str) {
    let mut lines = Lines::new();
    for (file, own) in examples() {
        let stem = file.trim_end_matches(".toml");
        if own == profile {
            for seed in SEEDS {
                let name = name_run(&[stem, &format!("seed-{seed}")]);
                lines.insert(name, simulate(&file, seed, None));
            }
        } else {
            let name = name_run(&[stem, &format!("seed-{}", SEEDS[0]), &format!("as-{profile}")]);
            lines.insert(name, simulate(&file, SEEDS[0], Some(profile)));
        }
    }
    compare_part(profile, &lines);
}

#[test]
fn examples_with_the_profile_fast_give_the_results_that_they_always_gave() {
    compare_profile("fast");
}

#[test]
fn examples_with_the_profile_paper_do() {
    compare_profile("paper");
}

#[test]
fn examples_with_the_profile_ns2_do() {
    compare_profile("ns2");
}

/// The verdict of a claim, and the hash of all figures that it was judged by. Their names may
/// change.
fn judged(claim: &Value) -> String {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let mut digest = Digest::new();
    for comparison in claim["comparisons"].as_array().into_iter().flatten() {
        digest.add_bytes(text(comparison, "verdict").as_bytes());
        for field in ["measured", "effect"] {
            let words = text(comparison, field);
            let figures = words.split([' ', ',', ';']).filter(|word| word.parse::<f64>().is_ok());
            figures.for_each(|figure| digest.add_bytes(figure.as_bytes()));
        }
    }
    format!("{} {}", digest.to_hex(), text(claim, "verdict"))
}

/// The claims of experiments, run quickly, by id.
fn claims(experiments: &[&str]) -> Lines {
    let desk = tempfile::tempdir().expect("a folder");
    let folder = desk.path().to_string_lossy();
    let mut arguments = vec!["reproduce"];
    arguments.extend(experiments);
    arguments.extend(["--quick", "--out", &folder]);
    let reports = json(&arguments);
    let reports = reports.as_array().into_iter().flatten();
    let claims = reports.flat_map(|report| report["claims"].as_array().into_iter().flatten());
    claims.map(|claim| (claim["id"].as_str().unwrap_or("?").to_owned(), judged(claim))).collect()
}

#[test]
fn claims_get_the_verdicts_that_they_always_got() {
    let wanted = std::env::var("POLYPATH_FINGERPRINT").unwrap_or_else(|_| JUDGED.join(","));
    let whole = wanted == "all";
    let experiments: Vec<&str> = wanted.split(',').filter(|_| !whole).collect();
    let is_of_paper = |id: &str| id.starts_with('S');
    let (papers, ours): (Lines, Lines) =
        claims(&experiments).into_iter().partition(|(id, _)| is_of_paper(id));
    let compare = if whole { compare_part } else { compare_some };
    compare("verdicts", &papers);
    compare("verdicts-fast", &ours);
}
