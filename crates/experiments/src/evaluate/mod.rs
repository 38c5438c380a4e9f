//! From results to verdicts.

mod cells;
mod check;
mod compare;
mod quantity;
mod reference;
mod table;
mod verdict;

pub use cells::{FilledPanel, FilledRow, FilledTable, fill};
pub use check::{Needs, check, needs};
pub use compare::{finding, undecided};
pub use quantity::{Bindings, Evaluator, GRID, NoValue, describe, unit};
pub(crate) use reference::{ReferencePoint, points};
pub use table::{GridTable, Results, Sample};
pub use verdict::{Comparison, Finding, Verdict};

#[cfg(test)]
mod tests;
