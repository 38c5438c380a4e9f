//! What cells name, and whether it is there.

use std::collections::BTreeMap;
use std::path::Path;

/// All Rust sources, by their path in the repository.
pub(crate) struct Sources(BTreeMap<String, String>);

impl Sources {
    pub(crate) fn read(root: &Path) -> Self {
        let mut found = BTreeMap::new();
        for folder in ["crates", "interop", "fuzz"] {
            collect(&root.join(folder), folder, &mut found);
        }
        Self(found)
    }

    /// Those of an example.
    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self(files.map(|(name, text)| (name.to_owned(), text.to_owned())).into())
    }

    /// What is wrong with a reference, if anything.
    pub(crate) fn fault(&self, file: &str, item: Option<&str>, is_test: bool) -> Option<String> {
        let ending = format!("/{file}");
        let mut texts = self.0.iter().filter(|(name, _)| name.ends_with(&ending)).peekable();
        if texts.peek().is_none() {
            return Some(format!("there is no file {file}"));
        }
        let item = item?;
        let has = |text: &str| {
            if is_test { mentions(text, &format!("fn {item}")) } else { mentions(text, item) }
        };
        let found = texts.any(|(_, text)| has(text));
        (!found).then(|| format!("{file} has no {item}"))
    }
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

/// What stands between backticks and looks like a file, or an item of one: (file, item).
pub(crate) fn named_in(cell: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
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
