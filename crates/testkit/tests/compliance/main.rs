//! The compliance tables (`docs/compliance/*.toml`) speak of what is there: no cell is empty, and
//! every file, item and test that a row names exists. The pages beside them are made of them:
//!
//! ```sh
//! UPDATE_DOCS=1 cargo test -p polypath-testkit --test compliance    # writes the pages anew
//! ```

mod page;
mod references;

use std::fs;
use std::path::{Path, PathBuf};

use page::{Cells, Page};
use references::Sources;

/// The only page that is written by hand.
const BY_HAND: &str = "README";

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> PathBuf {
    root().join("docs/compliance")
}

/// The names of the files of `docs/compliance` with this ending, without it.
fn names(ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("docs/compliance").flatten();
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|file| file.extension().is_some_and(|own| own == ending));
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

fn pages() -> Vec<Page> {
    let read = |name: &String| {
        let file = format!("{name}.toml");
        let text = fs::read_to_string(folder().join(&file)).expect("readable");
        Page::parse(name, &text).unwrap_or_else(|e| panic!("docs/compliance/{file}: {e}"))
    };
    names("toml").iter().map(read).collect()
}

/// What the cells of code and test say that does not hold.
fn faults(sources: &Sources, cells: &Cells) -> Vec<String> {
    let mut faults = Vec::new();
    for (column, is_test) in [("code", false), ("test", true)] {
        let named = cells.get(column).into_iter().flat_map(|cell| references::named_in(cell));
        let wrong = named.filter_map(|(file, item)| sources.fault(file, item, is_test));
        faults.extend(wrong.map(|what| format!("{column}: {what}")));
    }
    // A row without a test says why.
    if let Some(test) = cells.get("test").filter(|test| !test.is_empty()) {
        let tested = references::named_in(test).any(|(_, item)| item.is_some());
        if !tested && !["not applicable", "none"].iter().any(|w| test.starts_with(w)) {
            faults.push(format!("test: no test named: {test}"));
        }
    }
    faults
}

#[test]
fn rows_have_no_empty_cell_and_name_what_exists() {
    let sources = Sources::read(&root());
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages() {
        for (table, place, cells) in page.rows() {
            count += 1;
            let faults = table.faults(cells).into_iter().chain(faults(&sources, cells));
            wrong.extend(faults.map(|what| format!("docs/compliance/{place}: {what}")));
        }
    }
    assert!(count > 0, "no rows found");
    assert!(wrong.is_empty(), "{} faults in {count} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn pages_are_what_their_data_makes() {
    let mut wrong = Vec::new();
    for page in pages() {
        let (file, wanted) = (folder().join(format!("{}.md", page.name)), page.to_markdown());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&file, &wanted).expect("docs/compliance can be written");
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        if committed != wanted {
            let pairs = committed.lines().zip(wanted.lines());
            let line = 1 + pairs.take_while(|(is, shall)| is == shall).count();
            wrong.push(format!("docs/compliance/{}.md:{line}", page.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "not what the data makes, from this line on: change the .toml, and run `{}`\n{}",
        page::COMMAND,
        wrong.join("\n")
    );
}

#[test]
fn every_page_has_its_data() {
    let mut pages = names("md");
    pages.retain(|name| name != BY_HAND);
    assert_eq!(pages, names("toml"), "each page but {BY_HAND}.md has a .toml beside it");
}

#[test]
fn faults_of_a_row_are_seen() {
    let row = |code: &str, test: &str| -> Cells {
        [("code", code), ("test", test)].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    };
    let sources = Sources::of([("crates/proto/src/x.rs", "fn ff() {}")]);
    let good = row("`proto/src/x.rs::ff`, `--flag`", "`x.rs::ff`");
    assert_eq!(faults(&sources, &good), [""; 0]);
    assert_eq!(faults(&sources, &row("`x.rs`", "not applicable: why")), [""; 0]);
    assert_eq!(
        faults(&sources, &row("`x.rs::f`, `y.rs`", "`x.rs`")),
        ["code: x.rs has no f", "code: there is no file y.rs", "test: no test named: `x.rs`"]
    );
    let no_function = Sources::of([("crates/x.rs", "struct Name;")]);
    assert_eq!(
        faults(&no_function, &row("`crates/x.rs::Name`", "`x.rs::Name`")),
        ["code: there is no file crates/x.rs", "test: x.rs has no Name"]
    );
}
