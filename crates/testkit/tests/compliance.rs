//! The compliance tables (`docs/compliance`) speak of what is there: no cell is empty, and every
//! file, item and test that a row names exists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust sources, by their path in the repository.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in ["crates", "interop", "fuzz"] {
        collect(&root().join(folder), folder, &mut found);
    }
    found
}

fn collect(folder: &Path, name: &str, found: &mut BTreeMap<String, String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let (path, name) = (entry.path(), format!("{name}/{file}"));
        if path.is_dir() && file != "target" {
            collect(&path, &name, found);
        } else if file.ends_with(".rs") {
            found.insert(name, std::fs::read_to_string(path).expect("readable"));
        }
    }
}

/// The tables: the name of the file and its text.
fn tables() -> Vec<(String, String)> {
    let folder = root().join("docs/compliance");
    let entries = std::fs::read_dir(folder).expect("docs/compliance").flatten();
    let pages = entries.filter(|e| e.path().extension().is_some_and(|x| x == "md"));
    let read = |path: PathBuf| {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        (name.unwrap_or_default(), std::fs::read_to_string(path).expect("readable"))
    };
    let mut pages: Vec<_> = pages.map(|e| read(e.path())).collect();
    pages.sort();
    pages
}

/// The cells of a row of a table that has a column of tests; `None` for any other line.
fn rows(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let mut columns = 0;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let Some(inner) = line.trim().strip_prefix('|').and_then(|l| l.strip_suffix('|')) else {
            columns = 0;
            return None;
        };
        let cells: Vec<&str> = inner.split(" | ").map(str::trim).collect();
        if columns == 0 {
            // The header.
            columns =
                if cells.last().is_some_and(|c| c.starts_with("test")) { cells.len() } else { 1 };
            return None;
        }
        let rule = inner.chars().all(|c| matches!(c, '-' | '|' | ' ' | ':'));
        (columns > 1 && !rule).then_some((i + 1, cells))
    })
}

/// What stands between backticks and looks like a file, or an item of one: (file, item).
fn references(cell: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter_map(|q| match q.split_once(".rs") {
        Some((_, "")) => Some((q, None)),
        Some((file, rest)) if rest.starts_with("::") => {
            let item = rest.rsplit("::").next();
            Some((&q[..file.len() + 3], item))
        }
        _ => None,
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `text` has `item` as a whole word.
fn mentions(text: &str, item: &str) -> bool {
    text.match_indices(item).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let after = text[at + item.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}

/// What is wrong with a reference, if anything.
fn fault(
    sources: &BTreeMap<String, String>,
    file: &str,
    item: Option<&str>,
    test: bool,
) -> Option<String> {
    let ending = format!("/{file}");
    let mut texts = sources.iter().filter(|(name, _)| name.ends_with(&ending)).peekable();
    if texts.peek().is_none() {
        return Some(format!("there is no file {file}"));
    }
    let item = item?;
    let has = |text: &str| {
        if test { mentions(text, &format!("fn {item}")) } else { mentions(text, item) }
    };
    let found = texts.any(|(_, text)| has(text));
    (!found).then(|| format!("{file} has no {item}"))
}

#[test]
fn rows_have_no_empty_cell_and_name_what_exists() {
    let sources = sources();
    let (mut faults, mut count) = (Vec::new(), 0);
    for (page, text) in tables() {
        for (line, cells) in rows(&text) {
            count += 1;
            let mut say = |what: String| faults.push(format!("{page}:{line}: {what}"));
            if cells.iter().any(|c| c.is_empty()) {
                say("an empty cell".to_owned());
            }
            let [.., code, test] = cells[..] else { continue };
            let code = references(code).map(|r| (r, false));
            let all = code.chain(references(test).map(|r| (r, true)));
            for ((file, item), test) in all {
                if let Some(what) = fault(&sources, file, item, test) {
                    say(what);
                }
            }
            // A row without a test says why.
            let tested = references(test).any(|(_, item)| item.is_some());
            if !tested && !["not applicable", "none"].iter().any(|w| test.starts_with(w)) {
                say(format!("no test named: {test}"));
            }
        }
    }
    assert!(count > 0, "no rows found");
    assert!(faults.is_empty(), "{} of {count} rows:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn references_and_rows_are_told_from_other_text() {
    let table = "| requirement | RFC section | where in the code | test |\n|---|---|---|---|\n\
                 | a | 1 | `proto/src/x.rs::f`, `--flag` | `y.rs::t` |\n\n| other | table |\n|---|---|\n| a | b |\n";
    let rows: Vec<_> = rows(table).collect();
    assert_eq!(rows.len(), 1);
    let (line, cells) = &rows[0];
    assert_eq!((*line, cells.len()), (3, 4));
    assert_eq!(references(cells[2]).collect::<Vec<_>>(), [("proto/src/x.rs", Some("f"))]);
    let sources = BTreeMap::from([("crates/proto/src/x.rs".to_owned(), "fn ff() {}".to_owned())]);
    assert!(fault(&sources, "x.rs", Some("f"), false).is_some());
    assert!(fault(&sources, "x.rs", Some("ff"), true).is_none());
    assert!(fault(&sources, "y.rs", None, false).is_some());
}
