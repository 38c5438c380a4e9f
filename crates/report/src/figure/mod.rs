//! Diagrams.

mod axis;
mod data;
mod draw;
mod palette;
mod rows;
mod series;
mod tabulate;

pub use data::{Curve, Diagram, Point, diagrams};
pub use draw::svg;
pub use rows::{Rows, rows};
pub use series::time_series;
pub use tabulate::{Tabulated, tabulate};

/// A drawn figure.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// File name without its ending.
    pub name: String,
    /// Heading.
    pub title: String,
    /// One per panel: what it shows, and the SVG document.
    pub panels: Vec<(Diagram, String)>,
}
