//! What all figures are drawn on.

use plotters::coord::Shift;
use plotters::prelude::*;

/// Size of text.
pub(super) const TEXT: i32 = 14;

/// A part of a drawing.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

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
