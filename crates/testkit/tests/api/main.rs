//! The public API of each published library, as a list that people review (docs/api).
//!
//! A change of what users can name shows up as a change of the list:
//!
//! ```sh
//! UPDATE_API=1 cargo test -p polypath-testkit --test api    # writes the lists anew; read the diff
//! ```
//!
//! The lists are read from the sources, so that neither another toolchain nor another build is
//! needed. They have every item that can be reached from `lib.rs` by `pub mod` and `pub use`,
//! fields and variants, signatures as they are written, methods, and which traits a type implements
//! or derives. They do not have:
//!
//! - what a macro makes of its arguments (the call is listed as it stands);
//! - auto traits and blanket implementations;
//! - what stands behind a name in a signature, or behind one that is handed on from another
//!   package. Ours have lists of their own, of those of others Cargo.lock says the version.

mod crates;
mod items;
mod listing;
mod text;

use std::fs;
use std::path::Path;

#[test]
fn public_apis_are_as_reviewed() {
    let folder = crates::root().join("docs/api");
    let mut changed = Vec::new();
    for (name, source) in crates::published_libraries() {
        let file = folder.join(format!("{name}.txt"));
        let listed = listing::list_crate(&items::read_crate(&source), &name.replace('-', "_"));
        assert!(!listed.is_empty(), "{name}: a library without an API");
        if std::env::var_os("UPDATE_API").is_some() {
            fs::create_dir_all(&folder).expect("docs/api can be made");
            fs::write(&file, &listed).expect("docs/api can be written");
        }
        changed.extend(difference(&file, &listed));
    }
    let how = "UPDATE_API=1 cargo test -p polypath-testkit --test api writes docs/api anew";
    assert!(changed.is_empty(), "the API has changed; {how}\n{}", changed.join("\n"));
}

/// The lines that only one of the two has, as a diff has them.
fn difference(file: &Path, listed: &str) -> Vec<String> {
    let kept = fs::read_to_string(file).unwrap_or_default();
    let only = |of: &str, than: &str, sign: char| -> Vec<String> {
        let than: Vec<&str> = than.lines().collect();
        let lines = of.lines().filter(|line| !than.contains(line));
        lines.map(|line| format!("{}: {sign}{line}", file.display())).collect()
    };
    [only(&kept, listed, '-'), only(listed, &kept, '+')].concat()
}

#[test]
fn lists_of_crates_that_are_gone_are_gone() {
    let known: Vec<String> =
        crates::published_libraries().iter().map(|(name, _)| format!("{name}.txt")).collect();
    let there = fs::read_dir(crates::root().join("docs/api")).into_iter().flatten().flatten();
    let there = there.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let stale: Vec<String> =
        there.filter(|file| file.ends_with(".txt") && !known.contains(file)).collect();
    assert!(stale.is_empty(), "{stale:?}");
}

/// What the list of a small crate is, and that it changes with the API and with nothing else.
#[test]
fn a_list_has_what_can_be_reached() {
    let text = "
        mod inner {
            /// Documentation is no API.
            #[derive(Debug, Clone)]
            pub struct Shown<T> { pub open: Vec<T>, hidden: u8 }
            impl<T> Shown<T> { pub fn open(&self) -> &[T] { &self.open } fn secret(&self) {} }
            impl<T> Drop for Shown<T> { fn drop(&mut self) {} }
            pub struct Unreachable;
            number!(pub struct Made);
        }
        pub use inner::{Made, Shown as Renamed};
        #[non_exhaustive]
        pub enum Kind { One, Two(u8) }
        pub mod deep {
            pub trait Asks { const N: usize; fn ask(&self) -> u8 { 1 } }
            pub(crate) fn no() {}
        }
        pub use other::Thing;
        #[cfg(test)]
        pub mod tests {}
    ";
    let listed = listing::list_crate(&items::read_text(text), "small");
    let expected = "\
made by a macro: number!(pub struct Made)
pub enum small::Kind [non_exhaustive]
pub enum small::Kind: One
pub enum small::Kind: Two(u8)
pub mod small::deep
pub struct small::Renamed: derive(Debug, Clone)
pub struct small::Renamed: impl<T> Drop
pub struct small::Renamed: pub fn open(&self) -> &[T]
pub struct small::Renamed: pub open: Vec<T>
pub struct small::Renamed<T> (and private fields)
pub trait small::deep::Asks
pub trait small::deep::Asks: const N: usize
pub trait small::deep::Asks: fn ask(&self) -> u8 (provided)
pub use small::Thing = other::Thing
";
    assert_eq!(listed, expected);
}
