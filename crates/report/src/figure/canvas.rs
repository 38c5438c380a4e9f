//! What all figures are drawn on.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width of a figure without what stands beside it.
pub(super) const WIDTH: i32 = 880;

/// Size of text.
pub(super) const TEXT: i32 = 14;

/// A part of a drawing.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Writes `text` on a line whose middle is at this height; `at` is on this side of it.
pub(super) fn draw_text(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    side: HPos,
) -> Result<(), DrawError> {
    let style = ("sans-serif", TEXT).into_text_style(area);
    area.draw_text(text, &style.pos(Pos::new(side, VPos::Center)), at)?;
    Ok(())
}

/// Why a diagram could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the diagram cannot be drawn: {0}")]
pub struct DrawError(String);

impl DrawError {
    /// With this reason.
    pub(super) fn new(why: impl ToString) -> Self {
        Self(why.to_string())
    }
}

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for DrawError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self::new(error)
    }
}
