//! No page of results is stale, none was edited by hand, and README says the same.

use std::fs;
use std::path::{Path, PathBuf};

use polypath_report::{SealError, check_seal};

const RENEW: &str = "bash tools/pages.sh makes all pages anew";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All pages below a folder, or the page itself.
fn pages_of(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return vec![path.to_owned()] };
    let below = entries.flatten().flat_map(|entry| pages_of(&entry.path()));
    below.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

#[test]
fn sealed_pages_are_current_and_nobody_edited_them() {
    let mut wrong = Vec::new();
    for path in pages_of(&root().join("docs")) {
        match check_seal(&read(&path)) {
            // A page that no command made has no seal.
            Ok(()) | Err(SealError::Missing) => {}
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{}\n{RENEW}", wrong.join("\n"));
}

#[test]
fn the_readme_counts_claims_as_the_results_do() {
    let rows = |text: &str| -> Vec<String> {
        let table = text.lines().skip_while(|line| !line.starts_with("| paper | claims |"));
        table.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
    };
    let results = rows(&read(&root().join("docs/results/README.md")));
    let told: Vec<String> = rows(&read(&root().join("README.md")))
        .iter()
        .map(|row| row.replace("](docs/results/", "]("))
        .collect();
    assert!(results.len() > 3, "docs/results/README.md has no table of claims");
    assert_eq!(told, results, "README.md counts claims differently: {RENEW}");
}
