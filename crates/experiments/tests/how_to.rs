//! `docs/how-to/add-your-own-paper.md` shows what the files of its example say.

use std::fs;
use std::path::{Path, PathBuf};

use polypath_experiments::experiment::{Experiment, find_files};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn what_the_how_to_quotes_stands_in_the_files_of_its_example() {
    let page = fs::read_to_string(root().join("docs/how-to/add-your-own-paper.md")).unwrap();
    let files = find_files(&root().join("scenarios/papers/lim-2017")).unwrap();
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let quotes: Vec<&str> =
        page.split("\n```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    assert!(quotes.len() >= 5, "{quotes:?}");
    for quote in quotes {
        assert!(texts.iter().any(|text| text.contains(quote)), "in no file: {quote}");
    }
}

#[test]
fn every_claim_of_the_example_is_in_the_committed_results() {
    let results = fs::read_to_string(root().join("docs/results/S5.md")).unwrap();
    for file in find_files(&root().join("scenarios/papers/lim-2017")).unwrap() {
        let experiment = Experiment::from_file(&file).unwrap_or_else(|error| panic!("{error}"));
        assert!(!experiment.head.assumptions.is_empty(), "{}", file.display());
        for claim in &experiment.claims {
            assert!(results.contains(&claim.id), "{}", claim.id);
        }
    }
}
