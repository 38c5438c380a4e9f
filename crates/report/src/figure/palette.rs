//! Colours, markers and dashes that differ from each other for every eye, and in grey.

use plotters::style::RGBColor;

/// Okabe and Ito (2008), without yellow, in an order whose neighbours differ in lightness.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// Which of them areas that touch have, in an order whose neighbours differ in lightness.
const AREAS: [usize; COLOURS.len()] = [3, 1, 0, 4, 5, 6, 2];

/// The colour of the areas of a kind.
pub(super) const fn kind_colour(kind: usize) -> RGBColor {
    // Indices are taken modulo the length.
    COLOURS[AREAS[kind % AREAS.len()]]
}

/// Shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Down,
    Bar,
    /// What a paper prints.
    Star,
}

const MARKERS: [Marker; 7] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Cross,
    Marker::Down,
    Marker::Bar,
];

/// Lengths of stroke and gap; no gap means solid.
const DASHES: [(u32, u32); 4] = [(1, 0), (9, 5), (2, 4), (18, 4)];

/// How a curve looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    pub(super) marker: Marker,
    pub(super) dash: (u32, u32),
    /// Of the marker: unlike sizes show curves that lie on each other.
    pub(super) size: i32,
}

impl Look {
    /// The same colour, for what the paper prints of the curve.
    pub(super) const fn of_paper(self) -> Self {
        Self { marker: Marker::Star, ..self }
    }

    pub(super) fn for_curve(curve: usize) -> Self {
        // Indices are taken modulo the lengths.
        Self {
            colour: COLOURS[curve % COLOURS.len()],
            marker: MARKERS[curve % MARKERS.len()],
            dash: DASHES[curve % DASHES.len()],
            size: if curve.is_multiple_of(2) { 7 } else { 5 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_curves_differ_in_colour_and_marker_or_dash() {
        for a in 0..20 {
            for b in 0..a {
                let (a, b) = (Look::for_curve(a), Look::for_curve(b));
                assert!(a.marker != b.marker || a.dash != b.dash);
            }
        }
    }
}
