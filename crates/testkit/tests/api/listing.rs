//! From the modules of a crate to the lines of its list.

use std::collections::BTreeSet;

use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, TraitItem, Type};

use crate::items::{Module, Target, is_for_tests, is_public, parts};
use crate::text::{strip_docs, text};

/// Attributes that change what users can write. What follows `derive` is listed as traits.
const KEPT: [&str; 2] = ["non_exhaustive", "cfg"];

pub(crate) fn list_crate(root: &Module, name: &str) -> String {
    let mut list = List { root, lines: BTreeSet::new() };
    list.add_module(root, &[], name);
    list.lines.into_iter().map(|line| line + "\n").collect()
}

/// Whether an item defines a name, as far as one sees: a macro's call may.
pub(crate) fn defines(item: &Item, name: &str) -> bool {
    match item {
        Item::Macro(call) if call.ident.is_none() => {
            let tokens = text(&call.mac.tokens);
            tokens.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
        }
        _ => parts(item).name.is_some_and(|ident| ident == name),
    }
}

struct List<'a> {
    root: &'a Module,
    lines: BTreeSet<String>,
}

impl List<'_> {
    /// All of a module that users can name; they call it `shown`.
    fn add_module(&mut self, module: &Module, at: &[String], shown: &str) {
        for item in &module.items {
            match item {
                Item::Mod(child) if is_public(&child.vis) => {
                    let name = child.ident.to_string();
                    let below = [at, std::slice::from_ref(&name)].concat();
                    let shown = format!("{shown}::{name}");
                    self.lines.insert(format!("pub mod {shown}{}", notes(&child.attrs)));
                    self.add_module(&module.children[&name], &below, &shown);
                }
                Item::Macro(call) if call.ident.is_none() => self.add_item(item, shown, ""),
                _ => {
                    let parts = parts(item);
                    if let Some(name) = parts.name.filter(|_| parts.public) {
                        self.add_item(item, shown, &name.to_string());
                    }
                }
            }
        }
        for used in module.uses.iter().filter(|used| used.public) {
            match self.root.resolve(at, &used.path) {
                Target::Item(item) => self.add_item(item, shown, &used.name),
                Target::Module(path) => {
                    let found = self.root.find_module(&path).expect("just found");
                    if used.name == "*" {
                        self.add_module(found, &path, shown);
                    } else {
                        let shown = format!("{shown}::{}", used.name);
                        self.lines.insert(format!("pub mod {shown}"));
                        self.add_module(found, &path, &shown);
                    }
                }
                Target::Outside(path) => {
                    let from = path.join("::");
                    self.lines.insert(format!("pub use {shown}::{} = {from}", used.name));
                }
            }
        }
    }

    fn add_item(&mut self, item: &Item, shown: &str, name: &str) {
        let path = format!("{shown}::{name}");
        let end = notes(parts(item).attributes);
        let line = match item {
            Item::Const(item) => format!("pub const {path}: {}", text(&item.ty)),
            Item::Static(item) => format!("pub static {path}: {}", text(&item.ty)),
            Item::Fn(item) => format!("pub fn {path}: {}", text(&item.sig)),
            Item::Type(item) => {
                format!("pub type {path}{} = {}", text(&item.generics), text(&item.ty))
            }
            Item::Macro(call) => {
                let tokens = text(&strip_docs(&call.mac.tokens));
                format!("made by a macro: {}!({tokens})", text(&call.mac.path))
            }
            Item::Trait(item) => {
                item.items.iter().for_each(|one| self.add_trait_item(&path, one));
                let above = text(&item.supertraits);
                let above = if above.is_empty() { above } else { format!(": {above}") };
                format!("pub trait {path}{}{above}", text(&item.generics))
            }
            Item::Struct(item) => {
                let hidden = self.add_fields(&format!("pub struct {path}"), &item.fields);
                self.add_traits_and_methods(
                    &format!("pub struct {path}"),
                    &item.ident,
                    &item.attrs,
                );
                format!("pub struct {path}{}{hidden}", text(&item.generics))
            }
            Item::Enum(item) => {
                let head = format!("pub enum {path}");
                for variant in &item.variants {
                    let fields = text(&strip_docs(&variant.fields));
                    let space = if matches!(variant.fields, Fields::Named(_)) { " " } else { "" };
                    let (name, end) = (&variant.ident, notes(&variant.attrs));
                    self.lines.insert(format!("{head}: {name}{space}{fields}{end}"));
                }
                self.add_traits_and_methods(&head, &item.ident, &item.attrs);
                format!("{head}{}", text(&item.generics))
            }
            _ => return,
        };
        self.lines.insert(line + &end);
    }

    /// Adds the public fields, and returns whether there are others.
    fn add_fields(&mut self, head: &str, fields: &Fields) -> &'static str {
        for (index, field) in fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis)) {
            let name = field.ident.as_ref().map_or(index.to_string(), ToString::to_string);
            let end = notes(&field.attrs);
            self.lines.insert(format!("{head}: pub {name}: {}{end}", text(&field.ty)));
        }
        let hidden = fields.iter().any(|field| !is_public(&field.vis));
        if hidden { " (and private fields)" } else { "" }
    }

    fn add_trait_item(&mut self, path: &str, item: &TraitItem) {
        let line = match item {
            TraitItem::Fn(item) => {
                let provided = if item.default.is_some() { " (provided)" } else { "" };
                format!("{}{provided}", text(&item.sig))
            }
            TraitItem::Const(item) => format!("const {}: {}", item.ident, text(&item.ty)),
            TraitItem::Type(item) => format!("type {}: {}", item.ident, text(&item.bounds)),
            _ => return,
        };
        self.lines.insert(format!("pub trait {path}: {line}"));
    }

    /// Of the type, wherever in the crate they are: no two public types of a crate share a name
    /// (tools/names.sh).
    fn add_traits_and_methods(&mut self, head: &str, name: &syn::Ident, attributes: &[Attribute]) {
        for derive in attributes.iter().filter(|one| one.path().is_ident("derive")) {
            let syn::Meta::List(list) = &derive.meta else { continue };
            self.lines.insert(format!("{head}: derive({})", text(&list.tokens)));
        }
        let of_type = |block: &&ItemImpl| {
            let Type::Path(path) = &*block.self_ty else { return false };
            path.path.segments.last().is_some_and(|segment| segment.ident == *name)
        };
        let items = self.root.all().into_iter().flat_map(|module| &module.items);
        let blocks =
            items.filter_map(|item| if let Item::Impl(block) = item { Some(block) } else { None });
        for block in blocks.filter(of_type) {
            let end = notes(&block.attrs);
            let generics = text(&block.generics);
            if let Some(of) = block.trait_.as_ref().map(|(path, _)| text(path)) {
                self.lines.insert(format!("{head}: impl{generics} {of}{end}"));
                continue;
            }
            for item in &block.items {
                let line = match item {
                    ImplItem::Fn(item) if is_for_tests(&item.attrs) => continue,
                    ImplItem::Fn(item) if is_public(&item.vis) => text(&item.sig),
                    ImplItem::Const(item) if is_public(&item.vis) => {
                        format!("const {}: {}", item.ident, text(&item.ty))
                    }
                    _ => continue,
                };
                self.lines.insert(format!("{head}: pub {line}{end}"));
            }
        }
    }
}

fn notes(attributes: &[Attribute]) -> String {
    let kept = attributes.iter().filter(|one| KEPT.iter().any(|name| one.path().is_ident(name)));
    kept.map(|one| format!(" [{}]", text(&one.meta))).collect()
}
