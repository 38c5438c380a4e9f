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

/// Whether `tools/pages.sh` makes it.
fn is_result(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("docs/results"))
        || path.ends_with("docs/evidence/scheduler-comparison.md")
}

#[test]
fn sealed_pages_are_current_and_nobody_edited_them() {
    let mut wrong = Vec::new();
    for path in pages_of(&root().join("docs")) {
        match check_seal(&read(&path)) {
            Ok(()) => {}
            // A page that no command made has no seal.
            Err(SealError::Missing) if !is_result(&path) => {}
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{}\n{RENEW}", wrong.join("\n"));
}

/// All claims, how many hold, do not, and are unclear: the last row of the table of results.
fn count_claims(results: &str) -> [String; 4] {
    let row = results.lines().find(|line| line.starts_with("| all |")).expect("a row of all");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, _, claims, hold, not, unclear, ..] = cells[..] else { panic!("{row}") };
    [claims, hold, not, unclear].map(str::to_owned)
}

#[test]
fn pages_by_hand_count_claims_as_the_results_do() {
    let results = read(&root().join("docs/results/README.md"));
    let [claims, hold, not, unclear] = count_claims(&results);
    let told = [
        (
            "README.md",
            format!(
                "Of the {claims} claims of six papers {hold} hold in its lab, {not} do not, and \
                 {unclear} are unclear"
            ),
        ),
        (
            "docs/evidence/README.md",
            format!("[{hold} of {claims} hold, {not} do not, {unclear} are unclear]"),
        ),
    ];
    for (page, told) in told {
        let text = read(&root().join(page));
        assert!(text.contains(&told), "{page} lacks {told:?}: {RENEW}");
    }
}
