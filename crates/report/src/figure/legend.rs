//! What the curves of a diagram are.

use plotters::prelude::*;

use super::canvas::{Area, DrawError, TEXT};
use super::data::Diagram;
use super::marker::build_marker;
use super::palette::Look;

/// Height of a row.
pub(super) const ROW: i32 = 20;

/// Rows of the legend: text, look, and whether it stands for the reference.
fn legend_rows(diagram: &Diagram) -> impl Iterator<Item = (String, Look, bool, bool)> {
    let own = diagram.curves.iter().enumerate().filter(|(_, curve)| !curve.label.is_empty());
    let rows = own.map(|(n, curve)| (curve.label.clone(), Look::for_curve(n), true, curve.marked));
    let reference = diagram.curves.iter().any(|curve| !curve.reference.is_empty());
    let row = ("hollow: original simulator".to_owned(), Look::for_curve(0), false, true);
    let paper = diagram.curves.iter().any(|curve| !curve.paper.is_empty());
    let star = ("paper (as read)".to_owned(), Look::for_curve(0).of_paper(), false, true);
    rows.chain(reference.then_some(row)).chain(paper.then_some(star))
}

pub(super) fn draw_legend(area: &Area<'_>, diagram: &Diagram) -> Result<(), DrawError> {
    let heading = i32::from(!diagram.legend.is_empty());
    let style = ("sans-serif", TEXT).into_font().style(FontStyle::Bold);
    area.draw(&Text::new(diagram.legend.clone(), (4, 24 - TEXT / 2), style))?;
    for (n, (label, look, filled, marked)) in legend_rows(diagram).enumerate() {
        let y = 24 + ROW * (n as i32 + heading);
        if filled && diagram.categories.is_none() {
            let style = look.colour.stroke_width(2);
            match look.dash {
                (_, 0) => area.draw(&PathElement::new(vec![(4, y), (40, y)], style))?,
                (stroke, gap) => {
                    let (stroke, gap) = (stroke as i32, gap as i32);
                    let mut x = 4;
                    while x < 40 {
                        let end = (x + stroke).min(40);
                        area.draw(&PathElement::new(vec![(x, y), (end, y)], style))?;
                        x += stroke + gap;
                    }
                }
            }
        }
        if marked {
            let size = if filled { look.size } else { 9 };
            area.draw(&build_marker((22, y), look, size, filled))?;
        }
        area.draw(&Text::new(label, (48, y - TEXT / 2), ("sans-serif", TEXT)))?;
    }
    Ok(())
}

/// Width and height that the legend takes, in pixels.
pub(super) fn legend_size(diagram: &Diagram) -> (u32, u32) {
    let longest = legend_rows(diagram).map(|(label, ..)| label.len()).max().unwrap_or(0);
    let longest = longest.max(diagram.legend.len().saturating_sub(6));
    let rows = legend_rows(diagram).count() as u32;
    ((longest as u32 * 7 + 60).clamp(90, 400), (rows + 1) * ROW as u32 + 40)
}
