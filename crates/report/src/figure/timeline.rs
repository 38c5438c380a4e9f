//! What happened when: a row each, coloured by kind.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::canvas::{Area, DrawError, TEXT, WIDTH, draw_text};
use super::describe::name_picture;
use super::palette::kind_colour;

/// Rows of spans over one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// What it shows.
    pub title: String,
    /// Begin and end, seconds.
    pub over: (f64, f64),
    /// Names of the kinds of spans, seven at most; each has a colour.
    pub kinds: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<TimelineRow>,
}

/// Spans that do not overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRow {
    /// What stands above it.
    pub label: String,
    /// Begin and end in seconds, and a position in [`Timeline::kinds`].
    pub spans: Vec<(f64, f64, usize)>,
}

const LEFT: i32 = 20;
const RIGHT: i32 = 20;
/// Space for title and legend.
const TOP: i32 = 64;
/// A row with its label.
const ROW: i32 = 64;
/// Its label alone.
const LABEL: i32 = 22;
/// Space for the ticks and the name of the axis.
const BELOW: i32 = 52;
/// Width of what is drawn as one: where spans are shorter, each kind has its share of the height.
const COLUMN: i32 = 2;
const GROUND: RGBColor = RGBColor(240, 240, 240);

/// Draws the rows as SVG.
///
/// # Errors
/// When the drawing library refuses.
pub fn draw_timeline(timeline: &Timeline) -> Result<String, DrawError> {
    let bottom = TOP + ROW * i32::try_from(timeline.rows.len()).unwrap_or(1);
    let mut text = String::new();
    {
        let size = (WIDTH as u32, (bottom + BELOW) as u32);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        let plot = Plot { root: &root, timeline, bottom };
        plot.draw_legend()?;
        for (row, top) in timeline.rows.iter().zip((TOP..).step_by(ROW as usize)) {
            plot.draw_row(row, top)?;
        }
        plot.draw_axis()?;
        root.present()?;
    }
    Ok(name_picture(&text, &timeline.title, &describe(timeline)))
}

/// Seconds of each kind in each row.
fn describe(timeline: &Timeline) -> String {
    let row = |row: &TimelineRow| {
        let of = |kind: usize| -> f64 {
            let own = row.spans.iter().filter(|span| span.2 == kind);
            own.map(|(from, to, _)| to - from).sum()
        };
        let kinds = timeline.kinds.iter().enumerate();
        let kinds: Vec<String> =
            kinds.map(|(kind, name)| format!("{name} {:.3} s", of(kind))).collect();
        format!("{}: {}.", row.label, kinds.join(", "))
    };
    timeline.rows.iter().map(row).collect::<Vec<_>>().join(" ")
}

struct Plot<'a, 'b> {
    root: &'a Area<'b>,
    timeline: &'a Timeline,
    bottom: i32,
}

impl Plot<'_, '_> {
    fn draw_box(
        &self,
        from: (i32, i32),
        to: (i32, i32),
        colour: RGBColor,
    ) -> Result<(), DrawError> {
        self.root.draw(&Rectangle::new([from, to], colour.filled()))?;
        Ok(())
    }

    fn draw_legend(&self) -> Result<(), DrawError> {
        draw_text(self.root, &self.timeline.title, (LEFT, TEXT), HPos::Left)?;
        let mut x = LEFT;
        for (kind, name) in self.timeline.kinds.iter().enumerate() {
            let y = TOP - TEXT - 8;
            self.draw_box((x, y - 6), (x + 12, y + 6), kind_colour(kind))?;
            draw_text(self.root, name, (x + 18, y), HPos::Left)?;
            x += 44 + 8 * i32::try_from(name.chars().count()).unwrap_or(0);
        }
        Ok(())
    }

    fn draw_row(&self, row: &TimelineRow, top: i32) -> Result<(), DrawError> {
        draw_text(self.root, &row.label, (LEFT, top + LABEL / 2), HPos::Left)?;
        let (top, foot) = (top + LABEL, top + ROW - 8);
        self.draw_box((LEFT, top), (WIDTH - RIGHT, foot), GROUND)?;
        for (column, shares) in self.columns_of(row).iter().enumerate() {
            let x = LEFT + COLUMN * i32::try_from(column).unwrap_or(0);
            let mut below = 0.0;
            for (kind, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                let height = f64::from(foot - top);
                let [from, to] = [below + share, below].map(|share| foot - (share * height) as i32);
                below += share;
                if to > from {
                    self.draw_box((x, from), (x + COLUMN, to), kind_colour(kind))?;
                }
            }
        }
        Ok(())
    }

    /// Of each column the share of each kind.
    fn columns_of(&self, row: &TimelineRow) -> Vec<Vec<f64>> {
        let count = ((WIDTH - LEFT - RIGHT) / COLUMN) as usize;
        let (begin, end) = self.timeline.over;
        let width = ((end - begin) / count as f64).max(f64::MIN_POSITIVE);
        let mut columns = vec![vec![0.0; self.timeline.kinds.len()]; count];
        for &(from, to, kind) in &row.spans {
            let [first, last] =
                [from, to].map(|at| ((at - begin) / width).clamp(0.0, count as f64));
            let past = (last.ceil() as usize).min(count);
            for (at, column) in
                (first as usize..).zip(&mut columns[(first as usize).min(past)..past])
            {
                let share = last.min(at as f64 + 1.0) - first.max(at as f64);
                if let Some(own) = column.get_mut(kind) {
                    *own += share.max(0.0);
                }
            }
        }
        columns
    }

    fn draw_axis(&self) -> Result<(), DrawError> {
        let (begin, end) = self.timeline.over;
        let step = tick_step(end - begin);
        let first = (begin / step).ceil() as i64;
        for tick in (first..).map(|tick| tick as f64 * step).take_while(|tick| *tick <= end) {
            let share = (tick - begin) / (end - begin).max(f64::MIN_POSITIVE);
            let x = LEFT + (share * f64::from(WIDTH - LEFT - RIGHT)) as i32;
            let line = vec![(x, self.bottom - 4), (x, self.bottom + 2)];
            self.root.draw(&PathElement::new(line, BLACK.stroke_width(1)))?;
            let digits = if step < 1.0 { (-step.log10()).ceil() as usize } else { 0 };
            draw_text(
                self.root,
                &format!("{tick:.digits$}"),
                (x, self.bottom + TEXT),
                HPos::Center,
            )?;
        }
        draw_text(self.root, "Time (s)", (WIDTH / 2, self.bottom + 5 * TEXT / 2), HPos::Center)
    }
}

/// A round step of which ten at most fit.
fn tick_step(over: f64) -> f64 {
    let least = (over / 10.0).max(1e-6);
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
    steps.into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        let spans = vec![(1.0, 2.0, 0), (2.0, 2.001, 1), (2.002, 2.5, 1)];
        Timeline {
            title: "a < b".to_owned(),
            over: (1.0, 3.0),
            kinds: vec!["loss".to_owned(), "queue".to_owned()],
            rows: vec![TimelineRow { label: "path 0".to_owned(), spans }],
        }
    }

    #[test]
    fn a_row_has_its_label_its_colours_and_its_sums_in_words() {
        let text = draw_timeline(&timeline()).unwrap();
        for part in ["path 0", "a &lt; b", "path 0: loss 1.000 s, queue 0.499 s."] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn columns_hold_what_the_spans_say() {
        let timeline = timeline();
        let mut text = String::new();
        let root = SVGBackend::with_string(&mut text, (9, 9)).into_drawing_area();
        let plot = Plot { root: &root, timeline: &timeline, bottom: 0 };
        let columns = plot.columns_of(&timeline.rows[0]);
        let sum = |kind: usize| columns.iter().map(|column| column[kind]).sum::<f64>();
        let whole = columns.len() as f64;
        assert!((sum(0) / whole - 0.5).abs() < 1e-9 && (sum(1) / whole - 0.2495).abs() < 1e-9);
        assert!(columns.iter().all(|column| column.iter().sum::<f64>() <= 1.0 + 1e-9));
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([10.0, 7.0, 0.031].map(tick_step), [1.0, 1.0, 0.005]);
    }
}
