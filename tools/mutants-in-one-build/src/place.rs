//! Where in a file a mutant can be chosen: the expression around it, or the body of its function.

use std::collections::BTreeMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprBinary, File, ReturnType, Signature};

/// Places by the byte at which a mutant's text starts, or which enclose it.
#[derive(Default)]
pub struct Places {
    /// An operator's first byte, and the whole expression: a chain of binary operators is one,
    /// since a changed operator may bind differently.
    pub operators: BTreeMap<usize, Range<usize>>,
    /// `match` expressions.
    pub matches: Vec<Range<usize>>,
    /// Struct literals.
    pub structs: Vec<Range<usize>>,
    /// What is within the braces of functions, and whether they return some iterator.
    pub bodies: Vec<(Range<usize>, bool)>,
    /// The `const` of functions that need not be constant.
    pub const_tokens: Vec<Range<usize>>,
    /// What is evaluated when compiling: nothing can be chosen there.
    constant: Vec<Range<usize>>,
}

impl Places {
    /// Finds all places of a file; functions with one of the names `stay_const` remain constant.
    pub fn of(file: &File, stay_const: &dyn Fn(&str) -> bool) -> Self {
        let mut finder = Finder { places: Self::default(), stay_const };
        finder.visit_file(file);
        finder.places
    }

    pub fn is_constant(&self, place: &Range<usize>) -> bool {
        self.constant.iter().any(|range| encloses(range, place))
    }
}

/// The smallest of some ranges that encloses a place.
pub fn innermost<'a, T>(
    ranges: impl Iterator<Item = (&'a Range<usize>, T)>,
    place: &Range<usize>,
) -> Option<(Range<usize>, T)> {
    let enclosing = ranges.filter(|(range, _)| encloses(range, place));
    enclosing.min_by_key(|(range, _)| range.len()).map(|(range, other)| (range.clone(), other))
}

fn encloses(range: &Range<usize>, place: &Range<usize>) -> bool {
    range.start <= place.start && place.end <= range.end
}

struct Finder<'a> {
    places: Places,
    stay_const: &'a dyn Fn(&str) -> bool,
}

impl Finder<'_> {
    fn function(&mut self, signature: &Signature, block: &Block) {
        let whole = block.span().byte_range();
        let body = whole.start + 1..whole.end - 1;
        if let Some(token) = &signature.constness {
            if (self.stay_const)(&signature.ident.to_string()) {
                self.places.constant.push(body.clone());
            } else {
                self.places.const_tokens.push(token.span().byte_range());
            }
        }
        self.places.bodies.push((body, returns_iterator(&signature.output)));
    }

    /// Notes the operators of a chain, all with the same place.
    fn chain(&mut self, binary: &ExprBinary, place: Range<usize>) {
        // `let` must stay at the top of its condition. A changed `&&` beside it does not compile.
        let has_let = has_let(binary);
        if !has_let {
            self.places.operators.insert(binary.op.span().byte_range().start, place.clone());
        }
        for side in [&*binary.left, &*binary.right] {
            match side {
                Expr::Binary(inner) if has_let => self.chain(inner, inner.span().byte_range()),
                Expr::Binary(inner) => self.chain(inner, place.clone()),
                other => self.visit_expr(other),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        self.chain(binary, binary.span().byte_range());
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let place = unary.span().byte_range();
        self.places.operators.insert(place.start, place);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.places.matches.push(expression.span().byte_range());
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        self.places.structs.push(expression.span().byte_range());
        visit::visit_expr_struct(self, expression);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.places.constant.push(item.span().byte_range());
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.places.constant.push(item.span().byte_range());
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.places.constant.push(item.span().byte_range());
    }
}

fn returns_iterator(output: &ReturnType) -> bool {
    let ReturnType::Type(_, kind) = output else {
        return false;
    };
    matches!(**kind, syn::Type::ImplTrait(_))
}

fn has_let(binary: &ExprBinary) -> bool {
    let is_let = |side: &Expr| match side {
        Expr::Let(_) => true,
        Expr::Binary(inner) => has_let(inner),
        _ => false,
    };
    matches!(binary.op, BinOp::And(_)) && (is_let(&binary.left) || is_let(&binary.right))
}
