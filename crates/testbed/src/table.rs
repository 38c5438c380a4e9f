//! Comparisons for people.

use std::fmt::Write as _;

use crate::compare::{Comparison, FlowComparison, Pair};

/// A few lines per flow.
#[must_use]
pub fn format_comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    for flow in &comparison.flows {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:<12} {:>20} {:>20} {:>11}",
            flow.flow, "simulated", "emulated", "difference"
        );
        for (name, pair, scale, unit) in flow_rows(flow) {
            let [simulated, emulated] = format_both(&pair, scale, unit);
            let difference = format_percent(pair.difference);
            let _ = writeln!(text, "{name:<12} {simulated:>20} {emulated:>20} {difference:>11}");
        }
        let verdict = if flow.agree { "agree" } else { "DISAGREE" };
        let allowed = if comparison.lossy { "each other's intervals" } else { "5 %" };
        let _ = writeln!(text, "goodputs {verdict}: allowed are {allowed}");
    }
    let late = comparison.late_p99 * 1e3;
    let _ = writeln!(
        text,
        "{} runs each; 99 % of the packets at most {late:.2} ms late",
        comparison.runs
    );
    text
}

/// A Markdown table with a row per flow; `names` are those of the scenarios.
#[must_use]
pub fn format_markdown(all: &[(String, Comparison)]) -> String {
    let mut text = String::from(
        "| scenario | flow | goodput, simulated | emulated | difference | allowed | mean delay, simulated | emulated | difference |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (name, comparison) in all {
        for flow in &comparison.flows {
            let [simulated, emulated] = format_both(&flow.goodput, 1e-6, "Mbit/s");
            let mark = if flow.agree { "" } else { " **!**" };
            let allowed = if comparison.lossy { "intervals" } else { "5 %" };
            let title = comparison.title.as_ref().unwrap_or(name);
            let _ = write!(
                text,
                "| {name}: {title} | {} | {simulated} | {emulated} | {}{mark} | {allowed} |",
                flow.flow,
                format_percent(flow.goodput.difference)
            );
            let delay = flow.delay_mean.map(|pair| {
                let [simulated, emulated] = format_both(&pair, 1e3, "ms");
                format!(" {simulated} | {emulated} | {} |", format_percent(pair.difference))
            });
            text += &delay.unwrap_or_else(|| " | | |".into());
            text.push('\n');
        }
    }
    text
}

fn flow_rows(flow: &FlowComparison) -> Vec<(&'static str, Pair, f64, &'static str)> {
    let mut rows = vec![("goodput", flow.goodput, 1e-6, "Mbit/s")];
    rows.extend(flow.delay_mean.map(|pair| ("mean delay", pair, 1e3, "ms")));
    rows.extend(flow.delay_p99.map(|pair| ("delay, 99 %", pair, 1e3, "ms")));
    rows
}

fn format_both(pair: &Pair, scale: f64, unit: &str) -> [String; 2] {
    let one = |mean: f64, half: Option<f64>| match half {
        Some(half) => format!("{:.2} ± {:.2} {unit}", mean * scale, half * scale),
        None => format!("{:.2} {unit}", mean * scale),
    };
    [one(pair.simulated, pair.simulated_half), one(pair.emulated, pair.emulated_half)]
}

fn format_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
