//! A summary as text: Markdown, which terminals show, too.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::draw::Population;
use crate::feature::Feature;
use crate::summary::{Group, LimitGroup, Portion, Quantiles, Summary};

/// The summary as tables.
pub fn summary_text(summary: &Summary) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_head(&mut out, summary);
    write_groups(&mut out, "class", &summary.classes);
    write_groups(&mut out, "application", &summary.applications);
    write_groups(&mut out, "feature", &summary.features);
    write_limits(&mut out, &summary.limits);
    write_schedulers(&mut out, summary);
    write_worst(&mut out, summary);
    out
}

fn write_head(out: &mut String, summary: &Summary) -> std::fmt::Result {
    let Summary { draws, seed, packets, .. } = summary;
    writeln!(out, "{draws} draws of seed {seed}, at most {packets} packets in a run.")?;
    for (why, count) in &summary.rejected {
        writeln!(out, "{count} more were impossible: {why}.")?;
    }
    if *seed < Population::FIRST_REPORT_SEED {
        let first = Population::FIRST_REPORT_SEED;
        writeln!(out, "This seed is for tuning; reports have seeds from {first} on.")?;
    }
    Ok(())
}

fn table(out: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<Vec<String>> = rows.collect();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let widest = |column: usize| {
        let cells = rows.iter().chain([&heads]).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(widest).collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!(" {cell:<width$} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2)));
    *out += &format!("\n{}|{}\n", line(&heads), rule.collect::<String>());
    rows.iter().for_each(|row| *out += &line(row));
}

fn write_groups(out: &mut String, name: &str, groups: &[Group]) {
    let heads = [name, "draws", "below the best path", "0.1 %", "1 %", "5 %", "50 %", "late (p99)"];
    let row = |group: &Group| {
        let mut row =
            vec![group.name.clone(), group.below.of.to_string(), shown_portion(&group.below)];
        row.extend(shown_quantiles(group.ratio));
        row.push(group.late.map_or_else(|| "-".to_owned(), |late| shown_portion(&late)));
        row
    };
    table(out, &heads, groups.iter().map(row));
}

fn write_limits(out: &mut String, limits: &[LimitGroup]) {
    let heads = ["against the limit", "draws", "0.1 %", "1 %", "5 %", "50 %"];
    let row = |group: &LimitGroup| {
        let mut row = vec![group.name.clone(), group.draws.to_string()];
        row.extend(shown_quantiles(group.ratio));
        row
    };
    table(out, &heads, limits.iter().map(row));
}

fn write_schedulers(out: &mut String, summary: &Summary) {
    if summary.schedulers.is_empty() {
        return;
    }
    let heads = ["scheduler", "ours over it", "it is better", "it is below the best path"];
    let each = summary.schedulers.iter().map(|one| {
        vec![
            one.scheduler.clone(),
            format!("{:.3}", one.mean),
            shown_portion(&one.better),
            shown_portion(&one.below),
        ]
    });
    let best = summary.best_other.iter().map(|best| {
        let (mean, better) = (format!("{:.3}", best.mean), shown_portion(&best.better));
        vec!["the best of each draw".to_owned(), mean, better, "-".to_owned()]
    });
    table(out, &heads, each.chain(best));
}

fn write_worst(out: &mut String, summary: &Summary) {
    if summary.worst.is_empty() {
        return;
    }
    let heads = ["worst draw", "of the best path", "paths", "best", "application", "features"];
    let row = summary.worst.iter().map(|worst| {
        vec![
            worst.number.to_string(),
            format!("{:.3}", worst.ratio),
            worst.paths.to_string(),
            worst.best.clone(),
            worst.application.to_string(),
            shown_features(&worst.features),
        ]
    });
    table(out, &heads, row);
}

fn shown_features(features: &BTreeSet<Feature>) -> String {
    let words: Vec<&str> = features.iter().map(|feature| feature.words()).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn shown_portion(portion: &Portion) -> String {
    let percent = |share: f64| 100.0 * share;
    let (share, low, high) =
        (percent(portion.share()), percent(portion.low), percent(portion.high));
    format!("{} ({share:.1} %, {low:.1} to {high:.1})", portion.count)
}

fn shown_quantiles(quantiles: Option<Quantiles>) -> [String; 4] {
    let shown = |of: fn(&Quantiles) -> f64| {
        quantiles.as_ref().map_or_else(|| "-".to_owned(), |all| format!("{:.3}", of(all)))
    };
    [shown(|q| q.p01), shown(|q| q.p1), shown(|q| q.p5), shown(|q| q.p50)]
}
