//! `polypath sweep`.

use std::sync::Mutex;

use polypath_experiments::experiment::parse_amount;
use polypath_experiments::reproduce::{Measured, Seeds, SweepError, SweepRow};
use polypath_experiments::store::Store;
use polypath_report::write_runs;
use polypath_run::read_scenario;
use polypath_scenario::{Axis, Scalar, Source};

use crate::args::SweepArgs;
use crate::failure::Failure;
use crate::reproduce::advance_shared_bar;
use crate::talk::Talk;
use crate::{input, output};

pub(crate) fn sweep(args: &SweepArgs, talk: Talk) -> Result<(), Failure> {
    let mut source = input::read_source(&args.scenario, &args.set, talk)?;
    let mut axes = read_scenario(&source)?.sweep;
    axes.extend(args.axis.iter().map(|text| parse_axis(text)).collect::<Result<Vec<_>, _>>()?);
    source.set_axes(&axes)?;
    let mut store = Store::open(&args.out.join("runs")).map_err(Failure::run_failed)?;
    let progress = Mutex::new(talk.progress());
    let report = |done| advance_shared_bar(&progress, done);
    let seeds = choose_seeds(args, &source)?;
    let metrics = choose_metrics(args, &source)?;
    let swept =
        polypath_experiments::reproduce::run_sweep(source, seeds, &metrics, &mut store, &report);
    let (study, stored, rows) = swept.map_err(|error| match error {
        SweepError::Scenario(error) => Failure::from(error),
        SweepError::Metric(_) => Failure::bad_input(format!("--metric: {error}")),
        SweepError::Run(error) => Failure::run_failed(error),
    })?;
    store.sort_tables().map_err(Failure::run_failed)?;
    drop(progress);
    let name = args.scenario.file_stem().unwrap_or_default();
    let folder = args.out.join(name);
    let path = write_runs(&folder, &study, &stored)?;
    talk.say(format_args!("runs: {}", path.display()));
    if args.json { output::print_json(&rows) } else { output::print_text(&format_table(&rows)) }
}

/// Those of the command line, or those of the scenario, or goodput.
fn choose_metrics(args: &SweepArgs, source: &Source) -> Result<Vec<String>, Failure> {
    let given = [args.metric.clone(), read_scenario(source)?.metrics];
    let given = given.into_iter().find(|names| !names.is_empty());
    Ok(given.unwrap_or_else(|| vec!["goodput".to_owned()]))
}

fn choose_seeds(args: &SweepArgs, source: &Source) -> Result<Seeds, Failure> {
    if let Some(share) = &args.ci {
        let wanted = parse_amount(share).filter(|share| *share > 0.0 && *share < 1.0);
        let refused = || Failure::bad_input(format!("--ci {share}: expected a share, such as 2%"));
        return wanted.map(Seeds::Precision).ok_or_else(refused);
    }
    let own = read_scenario(source)?.seeds.count;
    Ok(Seeds::Count(args.seeds.unwrap_or(own)))
}

/// An axis of the command line.
fn parse_axis(text: &str) -> Result<Axis, Failure> {
    let malformed = || {
        Failure::bad_input(format!(
            "--axis {text}: expected FIELD=FIRST..LAST/STEP or FIELD=A,B, such as path.B.delay=10ms..50ms/10ms"
        ))
    };
    let (field, values) = text.split_once('=').ok_or_else(malformed)?;
    if field.trim().is_empty() || values.trim().is_empty() {
        return Err(malformed());
    }
    let axis = Axis { set: vec![field.trim().to_owned()], ..Axis::default() };
    if values.contains("..") {
        return Ok(Axis { range: Some(values.to_owned()), ..axis });
    }
    let scalar = |value: &str| match (value.parse::<bool>(), value.parse::<i64>()) {
        (Ok(switch), _) => Scalar::Switch(switch),
        (_, Ok(number)) => Scalar::Number(number),
        _ => Scalar::Text(value.to_owned()),
    };
    Ok(Axis { values: values.split(',').map(str::trim).map(scalar).collect(), ..axis })
}

fn format_table(rows: &[SweepRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let at: Vec<String> =
            row.at.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
        for (metric, measured) in &row.metrics {
            let at = if at.is_empty() { String::new() } else { format!("{}: ", at.join(", ")) };
            text.push_str(&format!("{at}{metric} {}\n", format_measured(metric, *measured)));
        }
    }
    text
}

fn format_measured(metric: &str, measured: Option<Measured>) -> String {
    let Some(Measured { mean, half, against_first }) = measured else { return "-".to_owned() };
    let unit = polypath_run::metrics::metric_unit(metric);
    let interval =
        if half.is_finite() { format!(" +- {}", unit.format_value(half)) } else { String::new() };
    let against = against_first.map(|(ratio, half)| {
        let half =
            if half.is_finite() { format!(" +- {:.2}", 100.0 * half) } else { String::new() };
        format!(", {:+.2}{half} % against the first", 100.0 * (ratio - 1.0))
    });
    format!("{}{interval}{}", unit.format_value(mean), against.unwrap_or_default())
}
