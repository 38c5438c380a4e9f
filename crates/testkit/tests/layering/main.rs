//! Which file takes names from which other, and which crate from which.
//!
//! **The rule.** An arrow goes from the file in which a name stands to the file that defines the
//! item of that name, in the same package. Names are those of `use` lines and of paths in code, in
//! the arguments of macros, too; what a module merely hands on is followed to where it is defined.
//! Four things are no arrows:
//!
//! - `mod child;`, and a `pub use` (of any visibility) of something below the file itself: a
//!   folder's `mod.rs` shows what the folder holds. Where the file uses such a name in its own
//!   code, it is an arrow.
//! - Importing a module: the names that are then taken from it count.
//! - Methods, and an `impl` of a type that lives elsewhere, beyond the name of the type.
//! - Tests: `tests/`, `examples/`, `benches/`, and what is under `#[cfg(test)]`.
//!
//! So types in `mod.rs` that its children use, while `mod.rs` calls what the children define, are a
//! circle: such types belong into a file of their own, below both.
//!
//! Files in a circle can only be understood together, and none of them can be moved alone. There
//! shall be none.

mod architecture;
mod circles;
mod modules;
mod resolve;

use architecture::{declared, packages, table};
use circles::{Arrows, circles};
use resolve::Package;

fn describe(arrows: &Arrows, circle: &[String]) -> String {
    let mut text = format!("a circle of {} files:\n", circle.len());
    for ((from, to), names) in arrows {
        if circle.contains(from) && circle.contains(to) {
            let names: Vec<_> = names.iter().take(8).map(String::as_str).collect();
            text += &format!("  {from} -> {to}: {}\n", names.join(", "));
        }
    }
    text
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut faults = String::new();
    for folder in packages() {
        let package = Package::read(&folder);
        let arrows = package.arrows();
        let found = circles(&arrows);
        if !found.is_empty() {
            faults += &format!("\n{}:\n", package.name);
            found.iter().for_each(|circle| faults += &describe(&arrows, circle));
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn crates_use_the_crates_that_the_architecture_says() {
    let table = table();
    let mut faults = Vec::new();
    for folder in packages() {
        let package = Package::read(&folder);
        let declared = declared(&folder);
        let name = &package.name;
        if package.crates() != declared {
            let used = package.crates();
            faults.push(format!("{name}: Cargo.toml names {declared:?}, the code {used:?}"));
        }
        match table.get(name) {
            Some(uses) if *uses == declared => {}
            Some(uses) => faults.push(format!("{name}: ARCHITECTURE.md {uses:?}, {declared:?}")),
            None if folder.ends_with("interop") => {}
            None => faults.push(format!("{name}: not in ARCHITECTURE.md")),
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
