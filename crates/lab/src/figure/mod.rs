//! Diagrams.

mod data;
mod draw;
mod palette;
mod series;

pub use data::{Curve, Diagram, Point, diagrams};
pub use draw::svg;
pub use series::time_series;

/// A drawn figure.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// File name without its ending.
    pub name: String,
    /// Heading.
    pub title: String,
    /// One SVG document per panel, with the panel's heading.
    pub panels: Vec<(String, String)>,
}
