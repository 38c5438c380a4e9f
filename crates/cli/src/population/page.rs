//! The page of a population: its figures, then its tables.

use polypath_experiments::stats::Interval;
use polypath_population::summary::{Group, Portion, Spread, Spreads, Summary};
use polypath_population::{Record, own_scheduler};
use polypath_report::figure::{
    Curve, Diagram, DrawError, Point, Share, ShareChart, draw_shares, draw_svg,
};
use polypath_report::{Captioned, FigurePage, render_figures};

/// Ratios beyond these ends stand at them.
const ENDS: (f64, f64) = (0.01, 10.0);
/// Steps of a curve, about: more than the eye tells apart only make large files.
const STEPS: usize = 400;
/// So many of the least ratios each have a step of their own.
const TAIL: usize = 50;

/// The page as HTML.
pub(super) fn draw_page(
    summary: &Summary,
    done: &[Record],
    command: String,
    tables: &str,
) -> Result<String, DrawError> {
    let spreads = Spreads::of_records(done);
    let over_best = "Ours over the best path alone";
    let ratios = format!(
        "Left of 1 ours is slower than the best path alone; ratios beyond {} and {} stand there.",
        ENDS.0, ENDS.1
    );
    let mut figures = vec![
        draw_ratios(&spreads.classes, over_best, &format!("Draws by class. {ratios}"))?,
        draw_ratios(&spreads.applications, over_best, &format!("By application. {ratios}"))?,
        draw_below(summary)?,
    ];
    if !spreads.limits.is_empty() {
        let caption = "Draws that have a limit, by application: 1 is all that the network admits.";
        figures.push(draw_ratios(&spreads.limits, "Ours over the limit", caption)?);
    }
    if !summary.schedulers.is_empty() {
        figures.push(draw_schedulers(summary)?);
    }
    let title = "A population of networks".to_owned();
    Ok(render_figures(&FigurePage { title, command, figures, tables: tables.to_owned() }))
}

/// The share of draws at or below each ratio.
fn draw_ratios(spreads: &[Spread], x_label: &str, caption: &str) -> Result<Captioned, DrawError> {
    let curve = |spread: &Spread| Curve {
        label: format!("{} ({})", spread.name, spread.ratios.len()),
        points: step_points(&spread.ratios),
        reference: Vec::new(),
        paper: Vec::new(),
        marked: false,
    };
    let diagram = Diagram {
        title: x_label.to_owned(),
        x_label: x_label.to_owned(),
        y_label: "Draws at or below it (%)".to_owned(),
        log: (true, false),
        legend: "draws".to_owned(),
        curves: spreads.iter().map(curve).collect(),
        ..Diagram::default()
    };
    Ok(Captioned { caption: caption.to_owned(), svg: draw_svg(&diagram)? })
}

/// The steps of an empirical distribution; `ratios` ascend.
fn step_points(ratios: &[f64]) -> Vec<Point> {
    let stride = (ratios.len() / STEPS).max(1);
    let point = |x: f64, rank: usize| {
        let mean = 100.0 * rank as f64 / ratios.len() as f64;
        Point { x: x.clamp(ENDS.0, ENDS.1), y: Interval { mean, half: 0.0 } }
    };
    let mut points = Vec::new();
    let mut before = 0;
    for (n, ratio) in ratios.iter().enumerate() {
        let is_last = n + 1 == ratios.len();
        if n < TAIL || n % stride == 0 || is_last {
            points.extend([point(*ratio, before), point(*ratio, n + 1)]);
            before = n + 1;
        }
    }
    points
}

fn draw_below(summary: &Summary) -> Result<Captioned, DrawError> {
    let below = |groups: &[Group]| {
        groups.iter().map(|group| share_row(&group.name, &group.below)).collect::<Vec<_>>()
    };
    let late = summary.applications.iter();
    let late = late.filter_map(|group| Some(share_row(&group.name, &group.late?)));
    let chart = ShareChart {
        x_label: "Draws".to_owned(),
        groups: vec![
            ("below the best path".to_owned(), below(&summary.classes)),
            ("by application".to_owned(), below(&summary.applications)),
            ("by feature".to_owned(), below(&summary.features)),
            ("later than it (p99)".to_owned(), late.collect()),
        ],
    };
    let caption = "Draws in which ours is more than 1 % slower than the best path alone, and those \
                   whose 99th percentile is above 1.1 times the best path's, with intervals of \
                   95 %.";
    Ok(Captioned { caption: caption.to_owned(), svg: draw_shares(&chart)? })
}

fn draw_schedulers(summary: &Summary) -> Result<Captioned, DrawError> {
    let all = summary.classes.iter().take(1);
    let ours = all.map(|group| share_row(&format!("{} (ours)", own_scheduler()), &group.below));
    let others = summary.schedulers.iter();
    let below = ours.chain(others.clone().map(|one| share_row(&one.scheduler, &one.below)));
    let best =
        summary.best_other.iter().map(|best| share_row("the best of each draw", &best.better));
    let better = others.map(|one| share_row(&one.scheduler, &one.better)).chain(best);
    let chart = ShareChart {
        x_label: "Draws".to_owned(),
        groups: vec![
            ("below the best path".to_owned(), below.collect()),
            ("better than ours".to_owned(), better.collect()),
        ],
    };
    let caption = "Each scheduler: draws in which it is more than 1 % slower than the best path \
                   alone, and those in which it is more than 1 % faster than ours, with intervals \
                   of 95 %.";
    Ok(Captioned { caption: caption.to_owned(), svg: draw_shares(&chart)? })
}

fn share_row(label: &str, portion: &Portion) -> Share {
    let Portion { low, high, .. } = *portion;
    Share { label: label.to_owned(), share: portion.share(), low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_from_nothing_to_all() {
        let ratios: Vec<f64> = (1..=10_000).map(|n| f64::from(n) / 5_000.0).collect();
        let points = step_points(&ratios);
        assert!(points.len() < 1_000, "{}", points.len());
        assert_eq!((points[0].x, points[0].y.mean), (ENDS.0, 0.0));
        let last = points.last().unwrap();
        assert_eq!((last.x, last.y.mean), (2.0, 100.0));
        assert!(points.is_sorted_by_key(|point| (point.x, point.y.mean)));
        assert!(step_points(&[]).is_empty());
    }
}
