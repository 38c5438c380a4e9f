//! The half of an experiment file that follows `[experiment]`, as it is written.

use indexmap::IndexMap;
use polypath_scenario::Scalar;
use serde::Deserialize;

use super::amount::Amount;
use super::paper::Readings;
use super::quantity::Quantity;
use super::select::{Over, Pick, Selection};
use super::test::Test;

/// Settings by dotted field.
pub type Settings = IndexMap<String, Scalar>;

/// Settings that belong to single values of axes: by axis and label.
pub type Cases = IndexMap<String, IndexMap<String, Settings>>;

/// Everything below the scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) experiment: Head,
    #[serde(default)]
    pub(super) grid: Vec<GridSpec>,
    #[serde(default)]
    pub(super) claim: Vec<Claim>,
    #[serde(default)]
    pub(super) figure: Vec<Figure>,
    #[serde(default)]
    pub(super) table: Vec<Table>,
    #[serde(default)]
    pub(super) reference: Vec<Reference>,
    #[serde(default)]
    pub(super) alternative: Vec<Alternative>,
}

/// What the experiment is, and how it is run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Head {
    /// Paper, dash, file name.
    pub id: String,
    /// One line.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What it is to answer.
    pub question: String,
    /// Values that the paper does not give.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// What else a reader should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What a quick run changes.
    #[serde(default)]
    pub quick: Quick,
    /// Points of the main grid that are left out.
    #[serde(default)]
    pub skip: Vec<IndexMap<String, Pick>>,
    /// Seeds of the alternatives; absent: those of a quick run.
    pub sensitivity_seeds: Option<u32>,
    /// Another file, whose scenario and grids are used.
    pub runs_of: Option<String>,
}

/// What a quick run changes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quick {
    /// How many seeds.
    pub seeds: u32,
    /// Settings over the scenario.
    pub set: Settings,
    /// More points that are left out.
    pub skip: Vec<IndexMap<String, Pick>>,
}

impl Default for Quick {
    fn default() -> Self {
        Self { seeds: 4, set: Settings::new(), skip: Vec::new() }
    }
}

/// Points beside the main sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GridSpec {
    pub(super) name: String,
    #[serde(default)]
    pub(super) set: Settings,
    #[serde(default)]
    pub(super) only: Over,
    pub(super) sweep: Option<Vec<toml::Value>>,
    pub(super) seeds: Option<u32>,
    #[serde(default)]
    pub(super) skip: Vec<IndexMap<String, Pick>>,
}

/// A statement of the paper and the test of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Unique.
    pub id: String,
    /// Quantitative or qualitative.
    pub kind: ClaimKind,
    /// The statement in our words.
    pub says: String,
    /// The same, short enough for a table; absent: the statement is.
    pub title: Option<String>,
    /// The paper's figures.
    #[serde(default)]
    pub paper: Readings,
    /// What must be so.
    pub test: Test,
    /// Why the bound differs from the first analysis.
    pub bound_changed: Option<String>,
    /// What was examined, and the best explanation, in case it does not hold.
    pub explain: Option<String>,
    /// Shown always.
    pub note: Option<String>,
}

impl Claim {
    /// Its name in tables: what it says, in few words.
    pub fn name(&self) -> &str {
        self.title.as_deref().unwrap_or_else(|| self.says.trim_end_matches('.'))
    }
}

/// What kind of statement a claim is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize, schemars::JsonSchema,
)]
pub enum ClaimKind {
    /// Gives a number.
    #[serde(rename = "Q")]
    Quantitative,
    /// Gives a direction or an order.
    #[serde(rename = "q")]
    Qualitative,
}

impl ClaimKind {
    /// As files write it.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Quantitative => "Q",
            Self::Qualitative => "q",
        }
    }
}

/// A diagram: of quantities over an axis, or of one run over time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figure {
    /// File name without its ending.
    pub name: String,
    /// Heading.
    pub title: String,
    /// Grid; absent: `main`.
    pub grid: Option<String>,
    /// Axis along x.
    pub x: Option<String>,
    /// Axes whose values make the curves.
    pub curves: Vec<String>,
    /// Axis whose values make the diagrams.
    pub panels: Option<String>,
    /// What is drawn.
    pub y: Option<Quantity>,
    /// Values to keep.
    pub only: Over,
    /// Without unit.
    pub x_label: Option<String>,
    /// Without unit.
    pub y_label: Option<String>,
    /// Logarithmic x axis.
    pub x_log: bool,
    /// Logarithmic y axis.
    pub y_log: bool,
    /// Horizontal lines.
    pub level: Vec<Level>,
    /// Intervals as bands along the curves.
    pub bands: bool,
    /// Time series in place of the axes.
    pub series: Vec<String>,
    /// Point of the time series.
    #[serde(rename = "where")]
    pub at: Selection,
    /// Seed of the time series; absent: the first.
    pub seed: Option<u64>,
    /// Beginning of the time series.
    pub from: Option<Amount>,
    /// End of the time series.
    pub to: Option<Amount>,
}

/// A horizontal line in a diagram.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Level {
    /// Where.
    pub at: Amount,
    /// What it is.
    pub label: String,
}

/// Figures in numbers: axes down and across.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Table {
    /// File name without its ending.
    pub name: String,
    /// Heading.
    pub title: String,
    /// What a reader should know.
    #[serde(default)]
    pub note: String,
    /// Grid; absent: `main`.
    pub grid: Option<String>,
    /// Axis whose values make tables of their own.
    pub panels: Option<String>,
    /// Axes whose values make the rows.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Axis whose values make the columns.
    pub columns: String,
    /// What stands in the cells; several quantities make a row each.
    pub cells: Vec<Cells>,
    /// Values to keep.
    #[serde(default)]
    pub only: Over,
    /// Whether half widths of intervals stand beside the means; absent: yes.
    #[serde(default = "default_true")]
    pub intervals: bool,
    /// Page of the documentation that shows the table: file name without its ending.
    pub page: Option<String>,
    /// Whether its figures stand in a file of data beside the page, not on it: a table that nobody
    /// reads as a whole.
    #[serde(default)]
    pub data: bool,
}

/// What stands in the cells of a table's row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cells {
    /// In the table, before the unit.
    pub name: String,
    /// The quantity.
    pub of: Quantity,
    /// Whether it is a share of one, to be written in per cent, which cannot be told of a ratio.
    #[serde(default)]
    pub share: bool,
}

/// Data of the original simulator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reference {
    /// Where the data come from, in a word.
    pub name: String,
    /// CSV file from the repository's root.
    pub file: String,
    /// Our quantity.
    pub metric: Quantity,
    /// Grid whose axes it is taken over; absent: `main`.
    pub grid: Option<String>,
    /// Rows to use: column and value.
    #[serde(default)]
    pub only: IndexMap<String, String>,
    /// Column of the value.
    pub value: String,
    /// Column of the half width of the interval.
    pub interval: Option<String>,
    /// Factor that leads to base units.
    #[serde(default = "unit_scale")]
    pub scale: f64,
    /// How columns become values of axes.
    pub axes: IndexMap<String, ReferenceAxis>,
    /// Figure in which the points are drawn.
    pub figure: Option<String>,
}

const fn default_true() -> bool {
    true
}

fn unit_scale() -> f64 {
    1.0
}

/// How a column becomes values of an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReferenceAxis {
    /// The column.
    pub column: String,
    /// Value of the axis by value of the column.
    pub values: IndexMap<String, String>,
}

/// Another reading of what the paper leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Alternative {
    /// A few words.
    pub name: String,
    /// Why it is worth a look.
    #[serde(default)]
    pub why: String,
    /// What it changes, below what the axes set.
    #[serde(default)]
    pub set: Settings,
    /// What it changes in single values of axes: by axis, label and field.
    #[serde(default)]
    pub cases: Cases,
    /// Claims that run again; empty: all.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Whether it is judged in full: every claim, with the file's own seeds, quick or not, and
    /// shown beside the file's own reading.
    #[serde(default)]
    pub reading: bool,
}
