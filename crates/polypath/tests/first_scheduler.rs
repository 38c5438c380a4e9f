//! The tutorial `docs/tutorials/first-scheduler.md` has the files of the example `first_scheduler`,
//! word by word, and prints what they print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its unit test, the rules that every scheduler keeps, runs here.
#[path = "../examples/first_scheduler/scheduler.rs"]
mod scheduler;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/tutorials/first-scheduler.md")).expect("the page is there")
}

/// The block that the page says is the file of this name.
fn block_of(page: &str, file: &str) -> String {
    let mark = format!("<!-- file: {file} -->\n```");
    let (_, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("the page lacks {file}"));
    let (_, block) = rest.split_once('\n').expect("a language and a block");
    block.split("```").next().unwrap_or_default().to_owned()
}

#[test]
fn the_scheduler_has_its_name() {
    assert_eq!(scheduler::ENTRY.name, "most-room");
}

#[test]
fn the_page_has_the_files_of_the_example() {
    let page = page();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/first_scheduler");
    for name in ["main.rs", "scheduler.rs"] {
        let file = fs::read_to_string(folder.join(name)).expect("readable");
        assert_eq!(block_of(&page, &format!("src/{name}")), file, "{name}");
    }
}

/// Cargo builds examples before it runs tests, beside their folder.
fn built_example() -> PathBuf {
    let test = std::env::current_exe().expect("this program has a path");
    test.ancestors().nth(2).expect("target/PROFILE").join("examples/first_scheduler")
}

#[test]
fn the_example_prints_what_the_page_says() {
    let page = page();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("uplinks.toml"), block_of(&page, "uplinks.toml"))
        .expect("written");
    let output = Command::new(built_example()).current_dir(folder.path()).output();
    let output = output.expect("the example was built: cargo test -p polypath");
    let printed = String::from_utf8_lossy(&output.stdout);
    let told = page.split("cargo run").nth(1).expect("the command that runs it");
    let told = told.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(told, Some(&*printed), "{}", String::from_utf8_lossy(&output.stderr));
}
