//! The modules of a crate and the items in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::{Attribute, Ident, Item, UseTree, Visibility};

use crate::listing;
use crate::text::text;

/// A module, public or not.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) items: Vec<Item>,
    pub(crate) children: BTreeMap<String, Self>,
    /// Names that `use` lines bring in, with what they stand for; `*` for all names of a module.
    pub(crate) uses: Vec<Use>,
}

pub(crate) struct Use {
    pub(crate) public: bool,
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
}

/// What a path leads to.
pub(crate) enum Target<'a> {
    /// Its path from the root.
    Module(Vec<String>),
    /// Of another crate, by its path.
    Outside(Vec<String>),
    Item(&'a Item),
}

pub(crate) fn read_crate(source: &Path) -> Module {
    let text = fs::read_to_string(source.join("lib.rs")).expect("lib.rs");
    module(parse(&text), Some(source))
}

pub(crate) fn read_text(text: &str) -> Module {
    module(parse(text), None)
}

fn parse(text: &str) -> Vec<Item> {
    syn::parse_file(text).expect("sources that compile").items
}

/// `folder` has the files of the module's children.
fn module(items: Vec<Item>, folder: Option<&Path>) -> Module {
    let mut made = Module::default();
    for item in items {
        if is_for_tests(parts(&item).attributes) {
            continue;
        }
        match &item {
            Item::Mod(child) => {
                let name = child.ident.to_string();
                let below = folder.map(|folder| folder.join(&name));
                let inside = match (&child.content, folder) {
                    (Some((_, items)), _) => items.clone(),
                    (None, Some(folder)) => read_child(folder, &name),
                    (None, None) => Vec::new(),
                };
                made.children.insert(name, module(inside, below.as_deref()));
            }
            Item::Use(line) => {
                let public = is_public(&line.vis);
                collect_uses(&line.tree, &mut Vec::new(), public, &mut made.uses);
            }
            _ => {}
        }
        made.items.push(item);
    }
    made
}

fn read_child(folder: &Path, name: &str) -> Vec<Item> {
    let files = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok());
    parse(&text.unwrap_or_else(|| panic!("no file of module {name} in {}", folder.display())))
}

pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|one| text(one) == "#[cfg(test)]")
}

/// Name, visibility and attributes, as far as an item has them.
pub(crate) struct Parts<'a> {
    pub(crate) name: Option<&'a Ident>,
    pub(crate) public: bool,
    pub(crate) attributes: &'a [Attribute],
}

pub(crate) fn parts(item: &Item) -> Parts<'_> {
    let (name, visibility, attributes) = match item {
        Item::Const(item) => (Some(&item.ident), Some(&item.vis), &item.attrs),
        Item::Enum(item) => (Some(&item.ident), Some(&item.vis), &item.attrs),
        Item::Fn(item) => (Some(&item.sig.ident), Some(&item.vis), &item.attrs),
        Item::Impl(item) => (None, None, &item.attrs),
        Item::Macro(item) => (item.ident.as_ref(), None, &item.attrs),
        Item::Mod(item) => (None, Some(&item.vis), &item.attrs),
        Item::Static(item) => (Some(&item.ident), Some(&item.vis), &item.attrs),
        Item::Struct(item) => (Some(&item.ident), Some(&item.vis), &item.attrs),
        Item::Trait(item) => (Some(&item.ident), Some(&item.vis), &item.attrs),
        Item::Type(item) => (Some(&item.ident), Some(&item.vis), &item.attrs),
        Item::Union(item) => (Some(&item.ident), Some(&item.vis), &item.attrs),
        Item::Use(item) => (None, Some(&item.vis), &item.attrs),
        _ => return Parts { name: None, public: false, attributes: &[] },
    };
    Parts { name, public: visibility.is_some_and(is_public), attributes }
}

pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn collect_uses(tree: &UseTree, path: &mut Vec<String>, public: bool, into: &mut Vec<Use>) {
    let mut add = |last: Option<String>, name: String| {
        let path = path.iter().cloned().chain(last).collect();
        into.push(Use { public, name, path });
    };
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.to_string());
            collect_uses(&step.tree, path, public, into);
            path.pop();
        }
        UseTree::Name(leaf) if leaf.ident == "self" => {
            add(None, path.last().cloned().unwrap_or_default());
        }
        UseTree::Name(leaf) => add(Some(leaf.ident.to_string()), leaf.ident.to_string()),
        UseTree::Rename(leaf) => add(Some(leaf.ident.to_string()), leaf.rename.to_string()),
        UseTree::Glob(_) => add(None, "*".to_owned()),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| collect_uses(tree, path, public, into));
        }
    }
}

impl Module {
    /// What a path in a `use` line of the module at `at` leads to.
    pub(crate) fn resolve(&self, at: &[String], path: &[String]) -> Target<'_> {
        let found = self.resolve_once(at, path, &mut BTreeSet::new());
        found.unwrap_or_else(|| Target::Outside(path.to_vec()))
    }

    /// Parents and children that bring in all of each other would lead on forever.
    fn resolve_once(
        &self,
        at: &[String],
        path: &[String],
        seen: &mut BTreeSet<[Vec<String>; 2]>,
    ) -> Option<Target<'_>> {
        if !seen.insert([at.to_vec(), path.to_vec()]) {
            return None;
        }
        let (mut place, mut rest) = (at.to_vec(), path);
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "crate" => place.clear(),
                "self" => {}
                "super" => drop(place.pop()),
                _ => break,
            }
            rest = others;
        }
        while let [step, others @ ..] = rest {
            let here = self.find_module(&place)?;
            if others.is_empty()
                && let Some(item) = here.items.iter().find(|item| listing::defines(item, step))
            {
                return Some(Target::Item(item));
            }
            if !here.children.contains_key(step) {
                return here.uses.iter().find_map(|used| {
                    if used.name == *step && used.path != path {
                        let onward = [&used.path[..], others].concat();
                        let found = self.resolve_once(&place, &onward, seen);
                        return found.or(Some(Target::Outside(onward)));
                    }
                    if used.name != "*" {
                        return None;
                    }
                    match self.resolve_once(&place, &used.path, seen)? {
                        Target::Module(found) => self.resolve_once(&found, rest, seen),
                        Target::Item(_) | Target::Outside(_) => None,
                    }
                });
            }
            place.push(step.clone());
            rest = others;
        }
        Some(Target::Module(place))
    }

    pub(crate) fn find_module(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |module, step| module.children.get(step))
    }

    /// This module and all below it.
    pub(crate) fn all(&self) -> Vec<&Self> {
        let below = self.children.values().flat_map(Self::all);
        std::iter::once(self).chain(below).collect()
    }
}
