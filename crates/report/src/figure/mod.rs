//! Diagrams.

mod axis;
mod canvas;
mod data;
mod describe;
mod draw;
mod legend;
mod marker;
mod palette;
mod picture;
mod rows;
mod series;
mod shares;
mod tabulate;
mod timeline;
mod trace;

pub use canvas::DrawError;
pub use data::{Curve, Diagram, Point, build_diagrams, space_unit};
pub use draw::{draw_panels, draw_svg};
pub use picture::{PictureFormat, encode_picture};
pub use rows::{Rows, tabulate_diagram};
pub use series::time_series;
pub use shares::{Share, ShareChart, draw_shares};
pub use tabulate::{Tabulated, tabulate_results};
pub use timeline::{Timeline, TimelineRow, draw_timeline};
pub use trace::{TraceDrawing, TraceFigure, TraceProblem, read_trace};

/// A drawn figure.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// File name without its ending.
    pub name: String,
    /// Heading.
    pub title: String,
    /// The seeds that it shows, first and last.
    pub seeds: Option<(u64, u64)>,
    /// One per panel: what it shows, and the SVG document.
    pub panels: Vec<(Diagram, String)>,
}
