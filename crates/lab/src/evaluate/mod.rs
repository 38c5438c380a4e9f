//! From results to verdicts.

mod check;
mod compare;
mod quantity;
mod table;
mod verdict;

pub use check::{Needs, check, needs};
pub use compare::{finding, undecided};
pub use quantity::{Bindings, Evaluator, NoValue};
pub(crate) use quantity::{GRID, describe, unit};
pub use table::{GridTable, Results, Sample};
pub use verdict::{Comparison, Finding, Verdict};

#[cfg(test)]
mod tests;
