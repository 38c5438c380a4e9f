//! Tokens as one writes them.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Rust on one line.
pub(crate) fn text(tokens: &impl ToTokens) -> String {
    let mut words = Vec::new();
    collect_words(tokens.to_token_stream(), &mut words);
    let mut text = String::new();
    let mut last = "";
    for word in words.iter().filter(|word| !word.is_empty()) {
        if is_spaced(last, word) {
            text.push(' ');
        }
        text += word;
        last = word;
    }
    // Where rustfmt broke lines, it left a comma.
    text.replace(", )", ")").replace(", >", ">").replace(", }", " }").replace(", ]", "]")
}

/// Without comments, which are attributes.
pub(crate) fn strip_docs(tokens: &impl ToTokens) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens.to_token_stream() {
        if let TokenTree::Group(group) = &token {
            let inside = strip_docs(&group.stream());
            let comment = inside.to_string().starts_with("doc =");
            let after_hash = matches!(kept.last(), Some(TokenTree::Punct(p)) if p.as_char() == '#');
            if comment && after_hash {
                kept.pop();
            } else {
                kept.push(proc_macro2::Group::new(group.delimiter(), inside).into());
            }
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

fn collect_words(tokens: TokenStream, into: &mut Vec<String>) {
    // `::`, `->` and lifetimes are one word; `>>` ends two lists of arguments.
    let mut joint = String::new();
    for token in tokens {
        match token {
            TokenTree::Punct(punct) => {
                joint.push(punct.as_char());
                if punct.spacing() == Spacing::Joint && punct.as_char() != '>' {
                    continue;
                }
                into.push(core::mem::take(&mut joint));
            }
            TokenTree::Group(group) => {
                into.extend((!joint.is_empty()).then(|| core::mem::take(&mut joint)));
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                into.push(open.to_owned());
                collect_words(group.stream(), into);
                into.push(close.to_owned());
            }
            other => into.push(core::mem::take(&mut joint) + &other.to_string()),
        }
    }
}

fn is_spaced(last: &str, next: &str) -> bool {
    const BOTH: [&str; 6] = ["->", "=>", "=", "+", "{", "}"];
    let begins = next.starts_with(|c: char| c.is_alphanumeric() || "_'\"".contains(c));
    let ends = last.ends_with(|c: char| c.is_alphanumeric() || "_\">)]".contains(c));
    BOTH.contains(&last) && !last.is_empty()
        || BOTH.contains(&next) && !last.is_empty()
        || [",", ";", ":"].contains(&last)
        || last.contains('\'') && ["[", "(", "&"].contains(&next)
        || begins && ends
}

#[test]
fn it_reads_as_written() {
    for line in [
        "fn f<'a, T: Into<Vec<u8>> + 'a>(&'a mut self, x: &[T]) -> Option<(u8, T)> where T: Copy",
        "pub const fn g(self, f: impl FnMut(u8) -> bool) -> <Self as Iterator>::Item",
        "fn h(&self) -> &(dyn Error + 'static)",
        "fn i(texts: &'a [&'static str]) -> [u8; 2]",
    ] {
        let tokens: TokenStream = line.parse().expect("Rust");
        assert_eq!(text(&tokens), line);
    }
}
