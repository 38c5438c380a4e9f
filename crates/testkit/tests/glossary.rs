//! Words that the field does not use were replaced (docs/reference/glossary.md): they stay away
//! from the names in code.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that are part of no name. The files that read words of before, so that they go on to work
/// for a release, are called `renamed.rs` and may hold them.
const RETIRED: [&str; 10] = [
    "doomed",
    "rehome",
    "deed",
    "deeds",
    "agenda",
    "puppet",
    "yardstick",
    "yardsticks",
    "suspicions",
    "outlook",
];

/// The files of all crates that have this ending.
fn find_files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of this repository") {
        let path = entry.expect("readable").path();
        if path.is_dir() && !path.ends_with("target") {
            find_files(&path, ending, found);
        } else if path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
}

/// The words of the names in a line of code: `SendAttempt` and `send_attempt` have two each.
fn split_names(code: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in code.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn names_are_split_into_words() {
    assert_eq!(
        split_names("fn lose_doomed(x: DoomedChunk)"),
        ["fn", "lose", "doomed", "x", "doomed", "chunk"]
    );
}

#[test]
fn retired_words_do_not_come_back() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    find_files(&crates, "rs", &mut files);
    let mut found = Vec::new();
    for file in files {
        if file.ends_with("renamed.rs") || file.ends_with("tests/glossary.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a file of this repository");
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            // What stands in quotes is data, such as the words that fingerprints were frozen under.
            let code: String = code.split('"').step_by(2).collect();
            let words = split_names(&code);
            let retired = RETIRED.iter().filter(|word| words.iter().any(|own| own == *word));
            found.extend(retired.map(|word| format!("{}:{number}: {word}", file.display())));
        }
    }
    assert!(found.is_empty(), "see docs/reference/glossary.md:\n{}", found.join("\n"));
}

#[test]
fn every_term_of_the_glossary_has_one_line_with_a_source() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/glossary.md");
    let page = fs::read_to_string(page).expect("the glossary");
    let (terms, _) = page.split_once("## Words of before").expect("a section of old words");
    let rows = terms.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| term "));
    let mut known = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        assert!(!known.contains(&cells[0].to_owned()), "twice: {row}");
        known.push(cells[0].to_owned());
    }
    assert!(known.len() >= 80, "{} terms", known.len());
}
