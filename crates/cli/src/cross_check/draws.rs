//! `polypath cross-check --draws`: members of the population in place of scenario files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use polypath_population::{Draw, Population};
use polypath_testbed::{RangeComparison, Reach, RunFigures, compare_with_range};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::CrossCheckArgs;
use crate::failure::Failure;
use crate::talk::Talk;
use crate::{interrupt, output};

/// The first seed of populations for reports, and so the one of tables in the documentation.
const SEED: u64 = Population::FIRST_REPORT_SEED + 1;
/// Of ten draws so many are to agree.
const TO_AGREE: f64 = 0.9;
/// Draws that are looked at for one that is emulated, on average; about one in ten is.
const PATIENCE: u64 = 200;

/// What `--json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// Seed of the population.
    seed: u64,
    /// Packets that a run may carry, about.
    packets: u64,
    /// Draws that were looked at.
    looked_at: u64,
    /// How many of them were passed over, by reason.
    passed_over: BTreeMap<String, u64>,
    /// Those that were run in both worlds.
    draws: Vec<Row>,
}

/// A draw in both worlds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Row {
    /// Its number.
    number: u64,
    /// How many paths it has.
    paths: usize,
    /// What is sent.
    application: String,
    /// What makes the network less than ideal.
    features: Vec<String>,
    /// Whether the last emulated run is within 5 % of the simulated range.
    agrees: bool,
    #[serde(flatten)]
    comparison: RangeComparison,
}

pub(super) fn check_draws(args: &CrossCheckArgs, wanted: u64, talk: Talk) -> Result<(), Failure> {
    let population = Population { seed: args.seed.unwrap_or(SEED), packets: args.packets };
    interrupt::hold_interrupt();
    let report = compare_draws(population, args, wanted, talk)?;
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print_text(&format_report(&report))?;
    }
    if interrupt::was_interrupted() {
        return Err(Failure::from_status(interrupt::INTERRUPTED));
    }
    let found = report.draws.len();
    if (found as u64) < wanted {
        let looked = report.looked_at;
        let found = format!("only {found} of the first {looked} draws can be emulated here");
        return Err(Failure::run_failed(found));
    }
    let agreed = report.draws.iter().filter(|row| row.agrees).count();
    if (agreed as f64) < TO_AGREE * found as f64 {
        return Err(Failure::run_failed(format!("the worlds agree in {agreed} of {found} draws")));
    }
    Ok(())
}

/// Goes through the population until enough draws were emulated.
fn compare_draws(
    population: Population,
    args: &CrossCheckArgs,
    wanted: u64,
    talk: Talk,
) -> Result<Report, Failure> {
    let Population { seed, packets } = population;
    let passed_over = BTreeMap::new();
    let mut report = Report { seed, packets, looked_at: 0, passed_over, draws: Vec::new() };
    while (report.draws.len() as u64) < wanted && report.looked_at < PATIENCE * wanted {
        if interrupt::was_interrupted() {
            break;
        }
        let number = report.looked_at;
        let draw = population.draw(number).map_err(Failure::bad_input)?;
        let (at, runs) = (report.draws.len() + 1, draw.scenario.seeds.first);
        let mut told =
            |what: &str| talk.say(format_args!("{at} of {wanted}, draw {number}: {what}"));
        let compared =
            compare_with_range(&draw.scenario, (runs, args.runs), &Reach::default(), &mut told)?;
        report.looked_at += 1;
        match compared {
            Ok(comparison) => {
                let row = Row::new(&draw, comparison);
                talk.say(format_row(&row));
                report.draws.push(row);
            }
            Err(beyond) => *report.passed_over.entry(beyond.to_string()).or_default() += 1,
        }
    }
    Ok(report)
}

impl Row {
    fn new(draw: &Draw, comparison: RangeComparison) -> Self {
        let flow = draw.scenario.flow.first();
        Self {
            number: draw.number,
            paths: flow.and_then(|flow| flow.paths.as_ref()).map_or(0, Vec::len),
            application: draw.application.to_string(),
            features: draw.features.iter().map(ToString::to_string).collect(),
            agrees: comparison.agrees(),
            comparison,
        }
    }
}

fn format_report(report: &Report) -> String {
    let mut text = String::from(
        "| draw | paths | application | features | goodput, simulated | emulated | ratio \
         | delay p99, simulated | emulated | SACKs, simulated | emulated | packets late |\n\
         |--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in &report.draws {
        text += &format_row(row);
        text.push('\n');
    }
    let count = |agrees: fn(&Row) -> bool| report.draws.iter().filter(|row| agrees(row)).count();
    let (rows, agreed) = (report.draws.len(), count(|row| row.agrees));
    let at_once = count(|row| row.comparison.agrees_in(0));
    let by_seed = count(|row| row.comparison.agrees_by_seed());
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\n{agreed} of {rows} emulated within 5 % of the simulated range, {at_once} of them at \
         once; {by_seed} within 5 % of the same seed\n"
    );
    let Reach { rate, messages, seconds } = Reach::default();
    let _ = writeln!(
        text,
        "Passed over of the first {} draws (emulated are at most {} Mbit/s, {messages} messages/s, \
         {seconds} s):\n",
        report.looked_at,
        rate / 1e6
    );
    for (why, count) in &report.passed_over {
        let _ = writeln!(text, "- {why}: {count}");
    }
    text
}

/// Goodputs in Mbit/s, simulated with the same seed and the range of all, and delays in ms;
/// emulated twice where the first run was outside.
fn format_row(row: &Row) -> String {
    let comparison = &row.comparison;
    let (least, most) = comparison.simulated_range();
    let [least, most] = [least, most].map(|goodput| format_digits(goodput / 1e6));
    let range = if least == most { String::new() } else { format!(" ({least} to {most})") };
    let simulated = |figure: fn(&RunFigures) -> Option<f64>| {
        comparison.simulated.first().map_or_else(String::new, |run| format_option(figure(run)))
    };
    let emulated = |figure: fn(&RunFigures) -> Option<f64>| {
        let all = comparison.emulated.iter().map(|run| format_option(figure(run)));
        all.collect::<Vec<_>>().join(", then ")
    };
    let goodput = |run: &RunFigures| Some(run.goodput / 1e6);
    let p99 = |run: &RunFigures| run.delay_p99.map(|p99| p99 * 1e3);
    let sacks = |run: &RunFigures| run.sacks;
    let features = row.features.join(", ");
    let mark = if row.agrees { "" } else { " **!**" };
    format!(
        "| {} | {} | {} | {features} | {}{range} | {} | {:.3}{mark} \
         | {} | {} | {} | {} | {:.2} ms |",
        row.number,
        row.paths,
        row.application,
        simulated(goodput),
        emulated(goodput),
        comparison.ratio(),
        simulated(p99),
        emulated(p99),
        simulated(sacks),
        emulated(sacks),
        comparison.late_p99 * 1e3,
    )
}

fn format_option(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), format_digits)
}

/// Three digits, or all before the point.
fn format_digits(value: f64) -> String {
    let before = if value >= 1.0 { value.log10() as usize + 1 } else { 0 };
    format!("{value:.*}", 3usize.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits() {
        let shown = [0.0412, 1.234, 98.76, 1234.5].map(format_digits);
        assert_eq!(shown, ["0.041", "1.23", "98.8", "1234"]);
    }

    #[test]
    fn rows_say_how_often_was_measured_and_what_disagrees() {
        let run = |goodput: f64| RunFigures { goodput, delay_p99: Some(0.25), sacks: Some(0.5) };
        let comparison = RangeComparison {
            simulated: vec![run(9e6), run(11e6)],
            emulated: vec![run(5e6), run(6e6)],
            late_p99: 0.0015,
        };
        let row = Row {
            number: 7,
            paths: 2,
            application: "paced".to_owned(),
            features: vec!["dips".to_owned(), "RED".to_owned()],
            agrees: comparison.agrees(),
            comparison,
        };
        assert_eq!(
            format_row(&row),
            "| 7 | 2 | paced | dips, RED | 9.00 (9.00 to 11.0) | 5.00, then 6.00 | 0.667 **!** \
             | 250 | 250, then 250 | 0.500 | 0.500, then 0.500 | 1.50 ms |"
        );
    }
}
