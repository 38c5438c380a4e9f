//! From names to the files that define them.

use std::path::Path;

use super::architecture::{Names, manifest, short};
use super::circles::Arrows;
use super::modules::{Import, Module, ModuleId, Tree};

/// Names that are handed on more often than this are handed around in a circle.
const HANDED_ON: usize = 16;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// A module of the package: which crate, which module.
    Module(usize, ModuleId),
    /// Something that this file defines.
    Item(String),
    /// A crate of ours.
    Crate(String),
}

/// A package with its crates: the library, if it has one, and the program, if it has one.
pub(crate) struct Package {
    pub(crate) name: String,
    /// The library's name in code.
    library: String,
    crates: Vec<Tree>,
}

impl Package {
    /// Reads the package in this folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let manifest = manifest(folder);
        let name = manifest["package"]["name"].as_str().expect("a name").to_owned();
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        let crates = roots.iter().filter(|root| root.exists());
        let crates = crates.map(|root| Tree::read(folder, root)).collect();
        Self { name: short(&name), library: name.replace('-', "_"), crates }
    }

    /// The crates of ours whose names stand in the code.
    pub(crate) fn crates(&self) -> Names {
        let mut names = Names::new();
        for (at, tree) in self.crates.iter().enumerate() {
            for (id, module) in tree.modules.iter().enumerate() {
                let imports = module.imports.iter().map(|import| &import.path);
                let targets = imports.chain(&module.paths).map(|path| self.find(at, id, path, 0));
                names.extend(targets.flatten().filter_map(|target| match target {
                    Target::Crate(name) => Some(name),
                    _ => None,
                }));
            }
        }
        names
    }

    /// The arrows between the package's files.
    pub(crate) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (at, tree) in self.crates.iter().enumerate() {
            for (id, module) in tree.modules.iter().enumerate() {
                for path in wanted(module) {
                    let glob = path.last().is_some_and(|word| word == "*");
                    let path = if glob { &path[..path.len() - 1] } else { &path[..] };
                    let to = match self.find(at, id, path, 0) {
                        Some(Target::Item(file)) => file,
                        Some(Target::Module(at, id)) if glob => {
                            self.crates[at].modules[id].file.clone()
                        }
                        _ => continue,
                    };
                    if to == module.file || self.is_shown(at, id, path, &to) {
                        continue;
                    }
                    let item = (1..=path.len()).find(|&words| {
                        matches!(self.find(at, id, &path[..words], 0), Some(Target::Item(_)))
                    });
                    let names = arrows.entry((module.file.clone(), to)).or_default();
                    names.insert(item.map_or("*", |words| path[words - 1].as_str()).to_owned());
                }
            }
        }
        arrows
    }

    /// Whether `path` is only a `pub use` of something in `to`, below the module, whose name its
    /// own code does not use.
    fn is_shown(&self, at: usize, id: ModuleId, path: &[String], to: &str) -> bool {
        let module = &self.crates[at].modules[id];
        let import = module.imports.iter().find(|import| import.path == path);
        let Some(import) = import.filter(|import| import.public) else { return false };
        let below = self.is_below(at, id, to);
        below && !module.paths.iter().any(|path| path.first() == Some(&import.name))
    }

    /// Whether some module below this one is in that file.
    fn is_below(&self, at: usize, id: ModuleId, file: &str) -> bool {
        let modules = &self.crates[at].modules;
        let mut children = modules[id].children.values();
        children.any(|child| modules[*child].file == file || self.is_below(at, *child, file))
    }

    /// What a path means where it stands; `None` if it is nothing of ours.
    fn find(&self, at: usize, id: ModuleId, path: &[String], depth: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let modules = &self.crates[at].modules;
        let start = match first.as_str() {
            "crate" => Target::Module(at, 0),
            "self" => Target::Module(at, id),
            "super" => Target::Module(at, modules[id].parent?),
            name if name == self.library => Target::Module(0, 0),
            name if name.starts_with("polypath_") => Target::Crate(short(&name.replace('_', "-"))),
            name => {
                // The crate `polypath` has a name that variables have, too.
                let found = self.lookup(at, id, name, depth);
                let facade = name == "polypath" && !rest.is_empty();
                found.or_else(|| facade.then(|| Target::Crate(name.to_owned())))?
            }
        };
        rest.iter().try_fold(start, |target, word| match target {
            Target::Module(at, id) if word == "super" => {
                Some(Target::Module(at, self.crates[at].modules[id].parent?))
            }
            Target::Module(at, id) => Some(self.member(at, id, word, depth)),
            other => Some(other),
        })
    }

    /// What a module calls by this name. What no item defines, some macro does.
    fn member(&self, at: usize, id: ModuleId, name: &str, depth: usize) -> Target {
        let found = self.lookup(at, id, name, depth);
        found.unwrap_or_else(|| Target::Item(self.crates[at].modules[id].file.clone()))
    }

    fn lookup(&self, at: usize, id: ModuleId, name: &str, depth: usize) -> Option<Target> {
        let module = &self.crates[at].modules[id];
        if let Some(child) = module.children.get(name) {
            return Some(Target::Module(at, *child));
        }
        if module.items.contains(name) {
            return Some(Target::Item(module.file.clone()));
        }
        if depth > HANDED_ON {
            return None;
        }
        let named = |import: &&Import| import.name == name;
        if let Some(import) = module.imports.iter().find(named) {
            // `use name;` of a crate means the crate, not itself.
            let itself = import.path.len() == 1 && import.path[0] == name;
            return if itself { None } else { self.find(at, id, &import.path, depth + 1) };
        }
        let globs = module.imports.iter().filter(|import| import.name == "*");
        globs
            .filter_map(|import| match self.find(at, id, &import.path, depth + 1)? {
                Target::Module(at, id) => self.lookup(at, id, name, depth + 1),
                _ => None,
            })
            .next()
    }
}

/// All paths that stand in a module; those that end in `*` mean all that is there.
fn wanted(module: &Module) -> Vec<Vec<String>> {
    let imports = module.imports.iter().map(|import| {
        let mut path = import.path.clone();
        path.extend((import.name == "*").then(|| "*".to_owned()));
        path
    });
    let own = module.paths.iter().filter(|path| path.len() > 1).cloned();
    imports.chain(own).collect()
}
