//! Which functions must stay `const`, since constants call them. All others lose the word in the
//! copy: what asks at run time cannot be constant.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, File};

/// What constants call, and what each `const fn` calls, by its bare name.
#[derive(Default)]
pub struct Constants {
    called: BTreeSet<String>,
    by_function: BTreeMap<String, BTreeSet<String>>,
    /// What is called in macros, which may make constants of it, by file.
    in_macros: BTreeMap<String, BTreeSet<String>>,
    /// The file that is read.
    reads: String,
}

impl Constants {
    /// Reads one more file.
    pub fn add(&mut self, path: &str, file: &File) {
        self.reads = path.to_owned();
        self.visit_file(file);
    }

    /// The names of all functions of a file that a constant calls, through others too.
    pub fn names(&self, path: &str) -> BTreeSet<String> {
        let mut names = self.called.clone();
        names.extend(self.in_macros.get(path).into_iter().flatten().cloned());
        let mut pending: Vec<String> = names.iter().cloned().collect();
        while let Some(name) = pending.pop() {
            for inner in self.by_function.get(&name).into_iter().flatten() {
                if names.insert(inner.clone()) {
                    pending.push(inner.clone());
                }
            }
        }
        names
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if signature.constness.is_some() {
            let mut names = Names::default();
            names.visit_block(block);
            self.by_function.entry(signature.ident.to_string()).or_default().extend(names.0);
        }
    }

    fn constant(&mut self, expression: &Expr) {
        let mut names = Names::default();
        names.visit_expr(expression);
        self.called.extend(names.0);
    }
}

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(&item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(&item.expr);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(&item.expr);
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        if let Some((_, value)) = &item.default {
            self.constant(value);
        }
    }

    fn visit_type_array(&mut self, array: &'ast syn::TypeArray) {
        self.constant(&array.len);
        visit::visit_type_array(self, array);
    }

    fn visit_expr_const(&mut self, expression: &'ast syn::ExprConst) {
        let mut names = Names::default();
        names.visit_block(&expression.block);
        self.called.extend(names.0);
    }

    /// What a macro makes of them is not known: they may be constants.
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if item.ident.is_none() {
            let names = self.in_macros.entry(self.reads.clone()).or_default();
            collect(item.mac.tokens.clone(), names);
        }
    }

    fn visit_expr_repeat(&mut self, expression: &'ast syn::ExprRepeat) {
        self.constant(&expression.len);
        visit::visit_expr_repeat(self, expression);
    }
}

/// The names of called functions and methods.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(function) = &*call.func {
            self.0.extend(function.path.segments.last().map(|last| last.ident.to_string()));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.0.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }
}

/// All names before parentheses.
fn collect(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let mut before = None;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            names.extend(before.take());
            collect(group.stream(), names);
        }
        before = match token {
            TokenTree::Ident(name) => Some(name.to_string()),
            _ => None,
        };
    }
}
