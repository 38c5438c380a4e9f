//! What the demo found, for the terminal.

use polypath_run::demo::{Demo, Way};
use polypath_sim::results::PathResult;

use crate::columns::{new_table, render_table};
use crate::format::{NONE, format_bytes, format_count, format_rate, format_share, format_time};

/// Columns of the longest bar.
const BAR: usize = 28;

/// The demo in 80 columns.
pub fn format_demo(demo: &Demo) -> String {
    let mut text =
        format!("{} ({}) over three paths:\n\n", demo.file, format_bytes(demo.size as f64));
    for line in &demo.network {
        text.push_str(&format!("  {line}\n"));
    }
    text.push('\n');
    text.push_str(&draw_chart(demo));
    if let Some(best) = demo.ways.last() {
        text.push_str(&format!("\nWhat each path did under {}:\n\n", best.label));
        text.push_str(&indent_lines(&path_table(&best.paths)));
    }
    text.push('\n');
    text.push_str(&format_verdict(demo));
    text
}

fn draw_chart(demo: &Demo) -> String {
    let most = demo.ways.iter().map(|way| way.goodput).fold(0.0, f64::max);
    let line = |way: &Way| {
        let time = way.seconds.map_or("never".to_owned(), |s| format_time(s * 1e9));
        let (label, rate) = (&way.label, format_rate(way.goodput));
        format!("  {label:<24} {time:>8} {rate:>13}  {}\n", draw_bar(way.goodput, most))
    };
    demo.ways.iter().map(line).collect()
}

fn format_verdict(demo: &Demo) -> String {
    let word = if demo.is_identical() {
        "Bit-identical every time.".to_owned()
    } else {
        let bad = demo.ways.iter().filter(|way| !way.identical).map(|way| way.label.as_str());
        format!("NOT IDENTICAL: {}.", bad.collect::<Vec<_>>().join("; "))
    };
    format!("{word}\nSHA-256 {}\n", demo.sha256)
}

fn path_table(paths: &[PathResult]) -> String {
    let all: u64 = paths.iter().map(|path| path.payload_bytes).sum();
    let mut table =
        new_table(&["path", "packets", "data", "share", "sent again", "timeouts", "RTT", "cwnd"]);
    for path in paths {
        table.add_row(vec![
            path.name.clone(),
            path.packets_sent.to_string(),
            format_bytes(path.payload_bytes as f64),
            format_share(path.payload_bytes as f64, all as f64),
            format_count(path.retransmissions_fast + path.retransmissions_timeout),
            format_count(path.timeouts),
            path.srtt.map_or(NONE.to_owned(), |srtt| format_time(srtt as f64)),
            format_bytes(path.cwnd as f64),
        ]);
    }
    render_table(&table)
}

fn indent_lines(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// A bar of at most [`BAR`] columns, in eighths of a column.
fn draw_bar(value: f64, most: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if most <= 0.0 {
        return String::new();
    }
    let eighths = (value / most * BAR as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_to_scale() {
        assert_eq!(draw_bar(1.0, 1.0), "█".repeat(BAR));
        assert_eq!(draw_bar(0.5, 1.0).chars().count(), BAR / 2);
        assert_eq!(draw_bar(0.0, 1.0), "");
        assert_eq!(draw_bar(0.0, 0.0), "");
    }
}
