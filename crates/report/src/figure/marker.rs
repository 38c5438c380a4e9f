//! Markers at the points of a curve.

use plotters::element::ComposedElement;
use plotters::prelude::*;

use super::palette::{Look, Marker};

/// What a marker is made of: its filling and its outline, around a point.
pub(super) type Drawn<'b, C> =
    ComposedElement<C, SVGBackend<'b>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// A marker; hollow ones are the reference's.
pub(super) fn build_marker<'b, C: Clone>(
    at: C,
    look: Look,
    size: i32,
    filled: bool,
) -> Drawn<'b, C> {
    let corners = marker_corners(look.marker, size);
    let outline = corners.iter().chain(corners.first()).copied().collect::<Vec<_>>();
    // A white rim keeps markers apart that touch; a cross is too thin for one.
    let fill = if filled { look.colour.to_rgba() } else { TRANSPARENT };
    let rim = if filled && look.marker != Marker::Cross { WHITE } else { look.colour };
    EmptyElement::at(at)
        + Polygon::new(corners, fill.filled())
        + PathElement::new(outline, rim.stroke_width(1))
}

fn marker_corners(marker: Marker, s: i32) -> Vec<(i32, i32)> {
    match marker {
        Marker::Circle => {
            let corner = |n: i32| {
                let angle = f64::from(n) * std::f64::consts::TAU / 24.0;
                let part = |unit: f64| (unit * f64::from(s)).round() as i32;
                (part(angle.cos()), part(angle.sin()))
            };
            (0..24).map(corner).collect()
        }
        Marker::Square => vec![(-s, -s), (s, -s), (s, s), (-s, s)],
        Marker::Triangle => vec![(0, -s - 1), (s + 1, s), (-s - 1, s)],
        Marker::Down => vec![(0, s + 1), (s + 1, -s), (-s - 1, -s)],
        Marker::Bar => vec![(-s - 2, -2), (s + 2, -2), (s + 2, 2), (-s - 2, 2)],
        Marker::Star => {
            // Five points; the inner corners lie where the sides of a pentagram cross.
            let corner = |n: i32| {
                let angle = f64::from(n) * std::f64::consts::TAU / 10.0;
                let reach = f64::from(s) * if n % 2 == 0 { 1.0 } else { 0.382 };
                ((angle.sin() * reach).round() as i32, (-angle.cos() * reach).round() as i32)
            };
            (0..10).map(corner).collect()
        }
        Marker::Diamond => vec![(0, -s - 2), (s + 2, 0), (0, s + 2), (-s - 2, 0)],
        Marker::Cross => {
            let (arm, waist) = (s + 1, 2);
            let (out, side) = (arm, arm - waist);
            vec![
                (-out, -side),
                (-side, -out),
                (0, -waist),
                (side, -out),
                (out, -side),
                (waist, 0),
                (out, side),
                (side, out),
                (0, waist),
                (-side, out),
                (-out, side),
                (-waist, 0),
            ]
        }
    }
}
