//! Experiments: a scenario with the claims, figures and reference data that belong to it.

mod amount;
mod file;
mod grid;
mod load;
mod paper;
mod quantity;
mod select;
mod test;

pub use amount::{Amount, parse_amount};
pub use file::{
    Alternative, Cases, Cells, Claim, ClaimKind, Figure, Head, Level, Quick, Reference,
    ReferenceAxis, Settings, Table,
};
pub use grid::{Axis, Grid, GridPoint, Variant};
pub use load::{find_files, is_experiment};
pub use paper::{Paper, Reading, Readings, Size, Written};
pub use quantity::{Fold, Quantity};
pub use select::{Over, Pick, Selection};
pub use test::{HoldsAt, Test};

use std::path::PathBuf;
use std::sync::Arc;

use polypath_scenario::{Files, ScenarioError, Source};

/// Name of the grid that the scenario's own sweep makes.
pub const MAIN: &str = "main";

/// A read experiment file.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What it is.
    pub head: Head,
    /// Where it was read.
    pub file: PathBuf,
    /// What has it, and the files that it names.
    pub files: Arc<dyn Files>,
    /// The paper that it is of, if its folder tells of one.
    pub paper: Option<Paper>,
    /// Statements and their tests.
    pub claims: Vec<Claim>,
    /// Diagrams.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Data of the original simulator.
    pub references: Vec<Reference>,
    /// Other readings.
    pub alternatives: Vec<Alternative>,
    runs: Runs,
    /// The file's second half, for messages.
    text: Source,
}

/// What is run; may come from another file.
#[derive(Clone, Debug)]
struct Runs {
    scenario: Source,
    grids: Vec<file::GridSpec>,
    skip: Vec<indexmap::IndexMap<String, Pick>>,
    quick: Quick,
}

impl Experiment {
    /// Seeds of its alternatives.
    pub fn sensitivity_seeds(&self) -> u32 {
        self.head.sensitivity_seeds.unwrap_or(self.runs.quick.seeds)
    }

    /// The scenario's text as it stands in the file.
    pub fn scenario_text(&self) -> String {
        self.runs.scenario.resolved()
    }

    /// A message about a field of the file's second half.
    pub(crate) fn field_error(&self, field: &str, text: &str) -> ScenarioError {
        self.text.problem(field, text)
    }
}
