//! The experiment files that the program carries, so that it needs no checkout to run them.
//!
//! The folder `files` of this crate holds links to `scenarios` and `data` of the repository; a
//! package holds the files themselves in their place.

use std::io;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use polypath_scenario::Files;

use crate::experiment::is_experiment;

static ROOT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/files");

/// Where the examples are.
const EXAMPLES: &str = "scenarios/examples";

/// The files that the program carries, by their paths from the root of the repository.
#[derive(Clone, Copy, Debug)]
pub struct Carried;

impl Files for Carried {
    fn text(&self, path: &Path) -> io::Result<String> {
        let file = ROOT.get_file(path).and_then(|file| file.contents_utf8());
        file.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Carried {
    /// Its experiment files, by name.
    pub fn find_experiments(self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        collect_experiments(&ROOT, &mut found);
        found.sort();
        found
    }

    /// Its example scenarios, by name.
    pub fn list_examples(self) -> Vec<PathBuf> {
        let files = ROOT.get_dir(EXAMPLES).map(Dir::files).into_iter().flatten();
        let paths = files.map(|file| file.path().to_owned());
        let mut found: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        found.sort();
        found
    }

    /// The examples with the files that they name: paths from their folder, and contents.
    pub fn files_of_examples(self) -> Vec<(PathBuf, &'static [u8])> {
        let mut found = Vec::new();
        let folder = ROOT.get_dir(EXAMPLES);
        folder.into_iter().for_each(|folder| collect_files(folder, &mut found));
        found
    }
}

fn collect_files(folder: &'static Dir<'_>, found: &mut Vec<(PathBuf, &'static [u8])>) {
    folder.dirs().for_each(|below| collect_files(below, found));
    let own = folder.files().filter_map(|file| {
        let path = file.path().strip_prefix(EXAMPLES).ok()?;
        Some((path.to_owned(), file.contents()))
    });
    found.extend(own);
}

fn collect_experiments(folder: &Dir<'_>, found: &mut Vec<PathBuf>) {
    folder.dirs().for_each(|below| collect_experiments(below, found));
    let texts = folder.files().filter_map(|file| Some((file.path(), file.contents_utf8()?)));
    found.extend(
        texts.filter(|(path, text)| is_experiment(path, text)).map(|(path, _)| path.into()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, find_files};

    fn checkout() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn every_experiment_of_the_checkout_is_carried_as_it_stands() {
        let scenarios = checkout().join("scenarios");
        let Ok(on_disk) = find_files(&scenarios) else { return };
        let carried = Carried.find_experiments();
        assert_eq!(carried.len(), on_disk.len());
        for path in carried {
            let text = std::fs::read_to_string(checkout().join(&path)).unwrap();
            assert!(Carried.text(&path).unwrap() == text, "{}", path.display());
        }
    }

    #[test]
    fn what_they_name_is_carried_with_them() {
        let names_files = |path: &PathBuf| {
            let text = Carried.text(path).unwrap();
            ["[[reference]]", "trace =", "runs-of"].iter().any(|word| text.contains(word))
        };
        for path in Carried.find_experiments().iter().filter(|path| names_files(path)) {
            let experiment = Experiment::from_files(std::sync::Arc::new(Carried), path).unwrap();
            for reference in &experiment.references {
                assert!(Carried.text(Path::new(&reference.file)).is_ok(), "{}", reference.file);
            }
        }
    }
}
