//! Scales and where their ticks stand.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use polypath_run::metrics::format_digits;

use super::data::{Diagram, Point};

/// Width of a character of a tick's label, in pixels, and the least space between two labels.
const CHARACTER: f64 = 7.5;
const SPACE: f64 = 12.0;
/// Ticks that a scale without values of its own aims at.
const STEPS: f64 = 7.0;

/// A scale: linear, logarithmic, or of categories.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    range: Range<f64>,
    log: bool,
    ticks: Vec<f64>,
    categories: Option<Vec<String>>,
}

impl Axis {
    /// The x axis over so many pixels: ticks stand at the measured values, where there is room for
    /// their labels.
    pub(super) fn for_x(diagram: &Diagram, pixels: u32) -> Self {
        let log = diagram.log.0;
        let mut xs: Vec<f64> =
            all_points(diagram).map(|point| point.x).filter(usable(log)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let (low, high) = value_range(xs.iter().copied());
        let range = match (&diagram.categories, log) {
            (Some(labels), _) => -0.5..labels.len().max(1) as f64 - 0.5,
            (None, true) => widen_range(low.log10()..high.log10(), 0.04).start_end(power_of_ten),
            (None, false) => widen_range(low..high, 0.03),
        };
        let continuous = diagram.curves.iter().any(|curve| !curve.marked);
        let ticks = match &diagram.categories {
            Some(labels) => (0..labels.len()).map(|n| n as f64).collect(),
            None if continuous && log => decade_ticks(&range),
            None if continuous => decimal_steps(&range, STEPS + 3.0),
            None => xs,
        };
        let categories = diagram.categories.clone();
        let mut axis = Self { range, log, ticks, categories };
        axis.thin_out(pixels);
        axis
    }

    /// The y axis: from zero, unless it is logarithmic.
    pub(super) fn for_y(diagram: &Diagram) -> Self {
        let log = diagram.log.1;
        let reach = |point: &Point| {
            let half = if point.y.half.is_finite() { point.y.half } else { 0.0 };
            [point.y.mean - half, point.y.mean, point.y.mean + half]
        };
        // Their labels stand above them.
        let levels = diagram.levels.iter().flat_map(|(y, _)| [*y, 1.03 * y]);
        let (low, high) =
            value_range(all_points(diagram).flat_map(reach).chain(levels).filter(usable(log)));
        let range = if log {
            widen_range(low.log10()..high.log10(), 0.06).start_end(power_of_ten)
        } else {
            let range = low.min(0.0)..high.max(0.0);
            let margin = (0.06 * (range.end - range.start)).max(1e-9);
            let below = if range.start < 0.0 { margin } else { 0.0 };
            range.start - below..range.end + margin
        };
        let ticks = match log {
            true => decade_ticks(&range),
            false if diagram.y_label.ends_with("(KiB)") => binary_steps(&range),
            false => decimal_steps(&range, STEPS),
        };
        Self { range, log, ticks, categories: None }
    }

    /// The text of a tick.
    pub(super) fn tick_label(&self, value: f64) -> String {
        match &self.categories {
            Some(labels) => labels.get(value as usize).cloned().unwrap_or_default(),
            // Steps leave rounding errors behind, such as 0.30000000000000004.
            None if value.abs() < 1e-9 * (self.range.end - self.range.start) => "0".to_owned(),
            None => format_digits(value),
        }
    }

    /// Where labels stand.
    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Both ends.
    pub(super) const fn ends(&self) -> (f64, f64) {
        (self.range.start, self.range.end)
    }

    /// The value, or the nearest one that the scale has.
    pub(super) fn clamp_value(&self, value: f64) -> f64 {
        if self.log { value.max(self.range.start) } else { value }
    }

    /// Whether the scale has such a value.
    pub(super) fn has_value(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    /// Whether the ticks are names that do not fit side by side.
    pub(super) fn is_crowded(&self, pixels: u32) -> bool {
        let widths = self.ticks.iter().map(|tick| self.tick_label(*tick).chars().count());
        let widest = widths.max().unwrap_or(0) as f64 * CHARACTER + SPACE;
        self.categories.is_some() && widest * self.ticks.len() as f64 > f64::from(pixels)
    }

    /// Drops ticks whose labels would touch the last one kept.
    fn thin_out(&mut self, pixels: u32) {
        if self.categories.is_some() {
            return;
        }
        let place = |axis: &Self, tick: f64| axis.relative_position(tick) * f64::from(pixels);
        let mut kept: Vec<f64> = Vec::new();
        for tick in &self.ticks {
            let room = |last: &f64| {
                let half =
                    |tick: f64| self.tick_label(tick).chars().count() as f64 * CHARACTER / 2.0;
                place(self, *tick) - place(self, *last) >= half(*tick) + half(*last) + SPACE
            };
            if kept.last().is_none_or(room) {
                kept.push(*tick);
            }
        }
        self.ticks = kept;
    }

    /// Where a value stands, from 0 to 1.
    fn relative_position(&self, value: f64) -> f64 {
        let scale =
            |value: f64| if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let (low, high) = (scale(self.range.start), scale(self.range.end));
        (scale(value) - low) / (high - low)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        low + (self.relative_position(*value) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // The light grid lines between the bold ones are not drawn.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        format_digits(*value)
    }
}

trait StartEnd {
    fn start_end(self, change: fn(f64) -> f64) -> Self;
}

impl StartEnd for Range<f64> {
    fn start_end(self, change: fn(f64) -> f64) -> Self {
        change(self.start)..change(self.end)
    }
}

fn power_of_ten(exponent: f64) -> f64 {
    10f64.powf(exponent)
}

/// By a share on both sides; a range without width gets one.
fn widen_range(range: Range<f64>, share: f64) -> Range<f64> {
    let width = range.end - range.start;
    let margin = if width > 0.0 { share * width } else { 0.5 * range.start.abs().max(1.0) };
    range.start - margin..range.end + margin
}

/// Multiples of 1, 2 or 5 times a power of ten, about `count` of them.
fn decimal_steps(range: &Range<f64>, count: f64) -> Vec<f64> {
    let rough = (range.end - range.start) / count;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power);
    multiples_within(range, step)
}

/// Multiples of a power of two, as buffers have them.
fn binary_steps(range: &Range<f64>) -> Vec<f64> {
    let step = 2f64.powf(((range.end - range.start) / STEPS).log2().ceil());
    multiples_within(range, step)
}

fn multiples_within(range: &Range<f64>, step: f64) -> Vec<f64> {
    let (first, last) = ((range.start / step).ceil() as i64, (range.end / step).floor() as i64);
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Powers of ten; over less than three of them also their doubles and fivefolds, over less than one
/// plain steps.
fn decade_ticks(range: &Range<f64>) -> Vec<f64> {
    let (low, high) = (range.start.log10(), range.end.log10());
    if high - low < 1.0 {
        return decimal_steps(range, STEPS);
    }
    let factors: &[f64] = if high - low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = low.floor() as i32..=high.ceil() as i32;
    let ticks = powers.flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
    ticks.filter(|tick| range.contains(tick)).collect()
}

fn usable(log: bool) -> impl Fn(&f64) -> bool {
    move |value| value.is_finite() && (!log || *value > 0.0)
}

fn all_points(diagram: &Diagram) -> impl Iterator<Item = &Point> {
    diagram
        .curves
        .iter()
        .flat_map(|curve| curve.points.iter().chain(&curve.reference).chain(&curve.paper))
}

fn value_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high { (0.1, 1.0) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_numbers_within_the_range() {
        assert_eq!(decimal_steps(&(0.0..20.5), 7.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(decimal_steps(&(-3.0..4.0), 7.0), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn sizes_have_steps_of_powers_of_two() {
        assert_eq!(binary_steps(&(0.0..270.0)), [0.0, 64.0, 128.0, 192.0, 256.0]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_with_doubles_and_fivefolds_where_there_is_room() {
        assert_eq!(decade_ticks(&(0.9..30.0)), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(decade_ticks(&(0.5..2e4)).len(), 5);
        assert_eq!(decade_ticks(&(2.0..7.5)), [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }

    #[test]
    fn places_follow_the_scale() {
        let axis = |log| Axis { range: 1.0..100.0, log, ticks: Vec::new(), categories: None };
        assert_eq!(axis(true).map(&10.0, (0, 100)), 50);
        assert_eq!(axis(false).map(&50.5, (0, 100)), 50);
    }

    #[test]
    fn ticks_without_room_for_their_labels_are_dropped() {
        let ticks = vec![1.0, 1.01, 2.0, 3.0];
        let mut axis = Axis { range: 0.0..4.0, log: false, ticks, categories: None };
        axis.thin_out(400);
        assert_eq!(axis.ticks, [1.0, 2.0, 3.0]);
    }
}
