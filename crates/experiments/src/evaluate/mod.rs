//! From results to verdicts.

mod cells;
mod check;
mod compare;
mod decide;
mod quantity;
mod reading;
mod reference;
mod table;
mod verdict;

pub use cells::{FilledPanel, FilledRow, FilledTable, fill_table};
pub use check::{Needs, check_experiment, collect_needs};
pub(crate) use compare::format_interval;
pub use compare::{evaluate_test, undecided_finding};
pub use quantity::{Bindings, Evaluator, GRID, NoValue, describe_quantity, quantity_unit};
pub use reading::{covers_quantity, measured_quantity};
pub(crate) use reference::{ReferencePoint, read_points};
pub use table::{GridTable, Results, Sample};
pub use verdict::{Comparison, Finding, Verdict};

#[cfg(test)]
mod tests;
