//! The modules of a crate as its files write them down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// A module's place in [`Tree::modules`].
pub(crate) type ModuleId = usize;

/// A name that a `use` brings into a module.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    /// The words that lead to it.
    pub(crate) path: Vec<String>,
    /// What it is called here; `*` for all that is there.
    pub(crate) name: String,
    /// Whether it is handed on.
    pub(crate) public: bool,
}

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) parent: Option<ModuleId>,
    /// The file that it is written in, from the package's folder.
    pub(crate) file: String,
    pub(crate) children: BTreeMap<String, ModuleId>,
    /// Names that it defines.
    pub(crate) items: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// Paths in its code.
    pub(crate) paths: BTreeSet<Vec<String>>,
}

/// A crate: all modules below `lib.rs` or `main.rs`, which is the first.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) modules: Vec<Module>,
}

impl Tree {
    /// Reads a crate from the file of its root.
    pub(crate) fn read(package: &Path, root: &Path) -> Self {
        let mut tree = Self::default();
        let folder = root.parent().expect("a file is in a folder").to_owned();
        tree.read_file(package, root, &folder, None);
        tree
    }

    /// Reads a file, whose children are in `folder`.
    fn read_file(
        &mut self,
        package: &Path,
        file: &Path,
        folder: &Path,
        parent: Option<ModuleId>,
    ) -> ModuleId {
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.strip_prefix(package).expect("below the package").display().to_string();
        self.read_items(package, &parsed.items, name, folder, parent)
    }

    fn read_items(
        &mut self,
        package: &Path,
        items: &[Item],
        file: String,
        folder: &Path,
        parent: Option<ModuleId>,
    ) -> ModuleId {
        let id = self.modules.len();
        self.modules.push(Module { parent, file: file.clone(), ..Module::default() });
        let mut reader = Reader { module: &mut self.modules[id] };
        let items = || items.iter().filter(|item| !is_for_tests(attributes(item)));
        for item in items() {
            reader.module.items.extend(defined(item));
            reader.visit_item(item);
        }
        for item in items() {
            let Item::Mod(ItemMod { ident, content, .. }) = item else { continue };
            let (name, below) = (ident.to_string(), folder.join(ident.to_string()));
            let child = match content {
                Some((_, items)) => self.read_items(package, items, file.clone(), &below, Some(id)),
                None => self.read_file(package, &child_file(folder, &name), &below, Some(id)),
            };
            self.modules[id].children.insert(name, child);
        }
        id
    }
}

fn child_file(folder: &Path, name: &str) -> PathBuf {
    let (flat, nested) = (folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs"));
    if flat.exists() { flat } else { nested }
}

/// Puts what stands in a module's code into it; modules below it are left out.
struct Reader<'a> {
    module: &'a mut Module,
}

impl Reader<'_> {
    fn import(&mut self, tree: &UseTree, before: &[String], public: bool) {
        let with = |word: &syn::Ident| {
            let mut path = before.to_vec();
            path.push(word.to_string());
            path
        };
        let mut add = |path: Vec<String>, name: String| {
            self.module.imports.push(Import { path, name, public });
        };
        match tree {
            UseTree::Path(next) => self.import(&next.tree, &with(&next.ident), public),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, before, public));
            }
            UseTree::Glob(_) => add(before.to_vec(), "*".to_owned()),
            UseTree::Rename(one) if one.ident == "self" => {
                add(before.to_vec(), one.rename.to_string());
            }
            UseTree::Rename(one) => add(with(&one.ident), one.rename.to_string()),
            UseTree::Name(one) if one.ident == "self" => {
                add(before.to_vec(), before.last().cloned().unwrap_or_default());
            }
            UseTree::Name(one) => add(with(&one.ident), one.ident.to_string()),
        }
    }

    /// Paths among the tokens of a macro's arguments.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons, mut after_dollar) = (Vec::new(), 0, false);
        for token in tokens {
            match &token {
                TokenTree::Ident(word) if colons == 2 || path.is_empty() => {
                    if after_dollar {
                        path.clear();
                    } else {
                        path.push(word.to_string());
                    }
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                _ => {
                    self.module.paths.insert(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Ident(word) = &token {
                        path.push(word.to_string());
                    }
                }
            }
            after_dollar = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '$');
            if let TokenTree::Group(group) = token {
                self.tokens(group.stream());
            }
        }
        self.module.paths.insert(path);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        self.import(&item.tree, &[], public);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words = path.segments.iter().map(|segment| segment.ident.to_string());
        self.module.paths.insert(words.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, one: &'ast Macro) {
        visit::visit_macro(self, one);
        self.tokens(one.tokens.clone());
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        let mut words = condition.split(|c: char| !c.is_alphanumeric());
        attribute.path().is_ident("cfg") && words.any(|w| w == "test") && !condition.contains("not")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(one) => &one.attrs,
        Item::Enum(one) => &one.attrs,
        Item::Fn(one) => &one.attrs,
        Item::Impl(one) => &one.attrs,
        Item::Macro(one) => &one.attrs,
        Item::Mod(one) => &one.attrs,
        Item::Static(one) => &one.attrs,
        Item::Struct(one) => &one.attrs,
        Item::Trait(one) => &one.attrs,
        Item::Type(one) => &one.attrs,
        Item::Use(one) => &one.attrs,
        _ => &[],
    }
}

/// The name that an item defines.
fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(one) => &one.ident,
        Item::Enum(one) => &one.ident,
        Item::Fn(one) => &one.sig.ident,
        Item::Macro(one) => one.ident.as_ref()?,
        Item::Static(one) => &one.ident,
        Item::Struct(one) => &one.ident,
        Item::Trait(one) => &one.ident,
        Item::Type(one) => &one.ident,
        Item::Union(one) => &one.ident,
        _ => return None,
    };
    Some(name.to_string())
}
