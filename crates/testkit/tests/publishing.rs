//! What each published package must bring: crates.io and its readers ask for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

/// Those of crates.io's categories that packages here are in.
const CATEGORIES: [&str; 13] = [
    "algorithms",
    "asynchronous",
    "command-line-utilities",
    "config",
    "cryptography",
    "development-tools::testing",
    "encoding",
    "network-programming",
    "os::linux-apis",
    "parser-implementations",
    "science",
    "simulation",
    "visualization",
];

/// A package and its folder.
struct Package {
    folder: PathBuf,
    manifest: Table,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn packages() -> Vec<Package> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|folder| folder.join("Cargo.toml").exists());
    folders
        .map(|folder| {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
            Package { folder, manifest }
        })
        .collect()
}

fn published() -> Vec<Package> {
    let all = packages().into_iter().filter(Package::is_published).collect::<Vec<_>>();
    assert!(all.len() > 15);
    all
}

impl Package {
    fn name(&self) -> &str {
        self.manifest["package"]["name"].as_str().unwrap()
    }

    fn is_published(&self) -> bool {
        self.manifest["package"].get("publish").is_none_or(|value| value.as_bool() != Some(false))
    }

    fn texts(&self, field: &str) -> Vec<&str> {
        let texts = self.manifest["package"].get(field).and_then(|field| field.as_array());
        texts.into_iter().flatten().map(|text| text.as_str().unwrap()).collect()
    }

    fn read(&self, file: &str) -> String {
        let file = self.folder.join(file);
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    /// Its features, but for `default`.
    fn features(&self) -> Vec<&str> {
        let features = self.manifest.get("features").and_then(|features| features.as_table());
        let names = features.into_iter().flat_map(|table| table.keys().map(String::as_str));
        names.filter(|name| *name != "default").collect()
    }

    /// The documentation of the crate, if it is a library: all lines, those that are not shown in
    /// examples left out.
    fn documentation(&self) -> Option<String> {
        let source = fs::read_to_string(self.folder.join("src/lib.rs")).ok()?;
        let lines = source.lines().filter_map(|line| line.strip_prefix("//!"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        let mut code = false;
        let shown = lines.filter(|line| {
            code ^= line.starts_with("```");
            !code || !line.starts_with("# ")
        });
        Some(shown.map(|line| format!("{line}\n")).collect())
    }
}

#[test]
fn packages_say_what_they_are() {
    for package in published() {
        let name = package.name();
        let description = package.manifest["package"]["description"].as_str().unwrap();
        assert!((20..=120).contains(&description.len()), "{name}: {description}");
        let keywords = package.texts("keywords");
        let good = |word: &&str| {
            let characters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            word.len() <= 20 && word.chars().all(characters)
        };
        assert!((1..=5).contains(&keywords.len()) && keywords.iter().all(good), "{name}");
        assert_eq!(keywords.iter().collect::<BTreeSet<_>>().len(), keywords.len(), "{name}");
        let categories = package.texts("categories");
        assert!((1..=5).contains(&categories.len()), "{name}");
        assert!(categories.iter().all(|one| CATEGORIES.contains(one)), "{name}: {categories:?}");
    }
}

#[test]
fn packages_bring_both_licences() {
    for package in published() {
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let ours = fs::read_to_string(root().join(file)).unwrap();
            assert_eq!(package.read(file), ours, "{}: {file}", package.name());
        }
    }
}

/// The Rust of a README is a part of the documentation's, which is compiled and run.
#[test]
fn readmes_show_what_the_documentation_shows() {
    for package in published() {
        let (name, readme) = (package.name(), package.read("README.md"));
        assert!(readme.starts_with(&format!("# {name}\n\n")), "{name}");
        let Some(documentation) = package.documentation() else {
            assert!(readme.contains("```sh\n"), "{name}: no example");
            continue;
        };
        let documentation = unindent(&documentation);
        let examples: Vec<&str> = readme.split("```rust\n").skip(1).collect();
        assert!(!examples.is_empty(), "{name}: no example");
        for example in examples {
            let example = unindent(example.split("```").next().unwrap());
            assert!(documentation.contains(&example), "{name}: not in lib.rs:\n{example}");
        }
    }
}

/// A part of an example may stand further to the left than in the whole.
fn unindent(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}

#[test]
fn features_are_documented() {
    let mut found = 0;
    for package in published() {
        for feature in package.features() {
            let readme = package.read("README.md");
            assert!(readme.contains(&format!("`{feature}`")), "{}: {feature}", package.name());
            if let Some(documentation) = package.documentation() {
                let line = format!("- `{feature}` (");
                assert!(documentation.contains(&line), "{}: {feature}", package.name());
            }
            found += 1;
        }
    }
    assert!(found >= 4, "{found}");
}

/// Nobody can install what depends on a package that is not published.
#[test]
fn published_packages_depend_on_published_ones() {
    let names: BTreeSet<String> = published().iter().map(|one| one.name().to_owned()).collect();
    for package in published() {
        for table in ["dependencies", "build-dependencies"] {
            let dependencies = package.manifest.get(table).and_then(|table| table.as_table());
            let ours = dependencies.into_iter().flat_map(Table::keys);
            for name in ours.filter(|name| name.starts_with("polypath")) {
                assert!(names.contains(name), "{}: {name}", package.name());
            }
        }
    }
}

/// There is no public repository, and none is made up. Once there is one, this test goes.
#[test]
fn no_address_is_made_up() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let workspace = Package { folder: root(), manifest: workspace };
    let shared = &workspace.manifest["workspace"]["package"];
    for field in ["repository", "homepage", "documentation"] {
        assert!(shared.get(field).is_none(), "{field}");
        for package in packages() {
            assert!(package.manifest["package"].get(field).is_none(), "{}", package.name());
        }
    }
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// A package holds its folder and nothing else: what its sources include from elsewhere is missing
/// there. Tests may, since packages are not tested.
#[test]
fn sources_include_files_of_their_package_alone() {
    let mut outside = Vec::new();
    for package in published() {
        let folder = package.folder.join("src");
        for file in sources(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            let depth = file.strip_prefix(&package.folder).unwrap().components().count() - 1;
            let included =
                text.split("include_str!(\"").skip(1).filter_map(|r| r.split('"').next());
            let far = included.filter(|path| path.matches("../").count() > depth);
            outside.extend(far.map(|path| format!("{}: {path}", file.display())));
        }
    }
    assert!(outside.is_empty(), "{outside:#?}");
}
