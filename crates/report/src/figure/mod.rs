//! Diagrams.

mod axis;
mod data;
mod draw;
mod palette;
mod rows;
mod series;
mod shares;
mod tabulate;

pub use data::{Curve, Diagram, Point, build_diagrams};
pub use draw::{DrawError, draw_svg};
pub use rows::{Rows, tabulate_diagram};
pub use series::time_series;
pub use shares::{Share, ShareChart, draw_shares};
pub use tabulate::{Tabulated, tabulate_results};

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
