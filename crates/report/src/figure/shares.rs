//! Shares with their intervals: one row each, a dot and a bar.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{Area, DrawError, TEXT, WIDTH, draw_text};
use super::describe::name_picture;

/// A share of something, and the interval that it is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Whose share it is.
    pub label: String,
    /// From 0 to 1.
    pub share: f64,
    /// Lower end of the interval, from 0 to 1.
    pub low: f64,
    /// Upper end of the interval, from 0 to 1.
    pub high: f64,
}

/// Shares under headings, on one scale.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareChart {
    /// What the shares are of; per cent is added.
    pub x_label: String,
    /// A heading, and its shares from top to bottom.
    pub groups: Vec<(String, Vec<Share>)>,
}

/// Where the scale begins: labels stand left of it, right-aligned.
const LEFT: i32 = 260;
/// Space right of the scale for the figures.
const RIGHT: i32 = 150;
const ROW: i32 = 22;
const TOP: i32 = 12;
/// Space for the ticks and the label of the scale.
const BELOW: i32 = 56;
const DOT: i32 = 5;
const INK: RGBColor = RGBColor(0, 114, 178);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// Draws the chart as SVG.
///
/// # Errors
/// When the drawing library refuses.
pub fn draw_shares(chart: &ShareChart) -> Result<String, DrawError> {
    let rows: usize = chart.groups.iter().map(|(_, shares)| shares.len() + 1).sum();
    let bottom = TOP + ROW * rows as i32;
    let mut text = String::new();
    {
        let size = (WIDTH as u32, (bottom + BELOW) as u32);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        let plot = Plot { root: &root, bottom, end: scale_end(chart) };
        plot.draw_scale(&chart.x_label)?;
        plot.draw_groups(chart)?;
        root.present()?;
    }
    Ok(name_picture(&text, &format!("{} (%)", chart.x_label), &describe_chart(chart)))
}

/// Every share in words.
fn describe_chart(chart: &ShareChart) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let one = |share: &Share| {
        let [low, high] = [share.low, share.high].map(percent);
        format!("{} {} ({low} to {high})", share.label, percent(share.share))
    };
    let group = |(heading, shares): &(String, Vec<Share>)| {
        format!("{heading}: {}.", shares.iter().map(one).collect::<Vec<_>>().join("; "))
    };
    let groups: Vec<String> = chart.groups.iter().map(group).collect();
    format!("Per cent, with intervals. {}", groups.join(" "))
}

/// The end of the scale: what holds all intervals, in tenths.
fn scale_end(chart: &ShareChart) -> f64 {
    let shares = chart.groups.iter().flat_map(|(_, shares)| shares);
    let most = shares.map(|share| share.high).fold(0.1, f64::max);
    ((10.0 * most).ceil() / 10.0).min(1.0)
}

struct Plot<'a, 'b> {
    root: &'a Area<'b>,
    bottom: i32,
    end: f64,
}

impl Plot<'_, '_> {
    fn place_of(&self, share: f64) -> i32 {
        LEFT + (share / self.end * f64::from(WIDTH - LEFT - RIGHT)).round() as i32
    }

    fn draw_scale(&self, label: &str) -> Result<(), DrawError> {
        let tenths = (10.0 * self.end).round() as i32;
        for tenth in 0..=tenths {
            let x = self.place_of(f64::from(tenth) / 10.0);
            let line = vec![(x, TOP), (x, self.bottom)];
            self.root.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
            draw_text(self.root, &(10 * tenth).to_string(), (x, self.bottom + TEXT), HPos::Center)?;
        }
        let middle = (LEFT + self.place_of(self.end)) / 2;
        let label = format!("{label} (%)");
        draw_text(self.root, &label, (middle, self.bottom + 3 * TEXT), HPos::Center)
    }

    fn draw_groups(&self, chart: &ShareChart) -> Result<(), DrawError> {
        let mut y = TOP + ROW / 2;
        for (heading, shares) in &chart.groups {
            let bold = ("sans-serif", TEXT).into_font().style(FontStyle::Bold);
            let style = TextStyle::from(bold).pos(Pos::new(HPos::Right, VPos::Center));
            self.root.draw_text(heading, &style, (LEFT - 12, y))?;
            y += ROW;
            for share in shares {
                self.draw_share(share, y)?;
                y += ROW;
            }
        }
        Ok(())
    }

    fn draw_share(&self, one: &Share, y: i32) -> Result<(), DrawError> {
        draw_text(self.root, &one.label, (LEFT - 12, y), HPos::Right)?;
        let [low, dot, high] = [one.low, one.share, one.high].map(|share| self.place_of(share));
        self.root.draw(&PathElement::new(vec![(low, y), (high, y)], INK.stroke_width(2)))?;
        for end in [low, high] {
            let cap = vec![(end, y - DOT), (end, y + DOT)];
            self.root.draw(&PathElement::new(cap, INK.stroke_width(1)))?;
        }
        self.root.draw(&Circle::new((dot, y), DOT, INK.filled()))?;
        let [share, low, high] = [one.share, one.low, one.high].map(|share| 100.0 * share);
        let figures = format!("{share:.1} ({low:.1} to {high:.1})");
        draw_text(self.root, &figures, (self.place_of(self.end) + 12, y), HPos::Left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(high: f64) -> ShareChart {
        let share = |n: usize| Share { label: format!("row {n}"), share: 0.2, low: 0.1, high };
        let x_label = "draws below".to_owned();
        ShareChart { x_label, groups: vec![("all".to_owned(), (0..3).map(share).collect())] }
    }

    #[test]
    fn every_row_has_its_label_and_figures() {
        let text = draw_shares(&chart(0.315)).unwrap();
        for n in 0..3 {
            assert!(text.contains(&format!("row {n}")), "{n}");
        }
        // Drawn, and told in the description.
        assert_eq!(text.matches("20.0 (10.0 to 31.5)").count(), 3 + 3);
        assert!(text.contains("draws below (%)"));
    }

    #[test]
    fn the_scale_holds_every_interval() {
        assert_eq!(scale_end(&chart(0.31)), 0.4);
        assert_eq!(scale_end(&chart(1.0)), 1.0);
        assert_eq!(scale_end(&ShareChart { x_label: String::new(), groups: Vec::new() }), 0.1);
    }
}
