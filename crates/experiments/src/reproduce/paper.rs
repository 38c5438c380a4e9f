//! A paper's figures beside ours.

use polypath_run::metrics::Unit;
use schemars::JsonSchema;
use serde::Serialize;

use crate::evaluate::{Bindings, Evaluator, format_interval, measured_quantity, quantity_unit};
use crate::experiment::{Claim, Quantity, Reading, Size, Written};

/// A figure of the paper, and ours.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PaperFigureReport {
    /// As read, with the error of reading; `None`: the paper has none.
    pub paper: Option<String>,
    /// What it is of, where that is not what the claim compares.
    pub what: Option<String>,
    /// Ours, with its interval.
    pub ours: Option<String>,
    /// Where it was read, or why there is none.
    pub from: String,
}

impl PaperFigureReport {
    /// The figure and what it is of; a dash where there is none.
    pub fn describe_figure(&self) -> String {
        match (&self.paper, &self.what) {
            (None, _) => "-".to_owned(),
            (Some(paper), None) => paper.clone(),
            (Some(paper), Some(what)) => format!("{what}: {paper}"),
        }
    }
}

/// The figures of a claim.
pub(super) fn read_beside(claim: &Claim, evaluator: &Evaluator<'_>) -> Vec<PaperFigureReport> {
    let report = |reading: &Reading| match reading {
        Reading::Absent(why) => {
            PaperFigureReport { paper: None, what: None, ours: None, from: why.clone() }
        }
        Reading::Printed { size, from, what, .. } => PaperFigureReport {
            paper: Some(format_size(size)),
            what: what.clone(),
            ours: measured_quantity(claim, reading).and_then(|of| measure(of, size, evaluator)),
            from: from.clone(),
        },
    };
    claim.paper.0.iter().map(report).collect()
}

/// Ours, in the paper's way of writing shares.
fn measure(of: &Quantity, size: &Size, evaluator: &Evaluator<'_>) -> Option<String> {
    let ours = evaluator.estimate_quantity(of, &Bindings::new()).ok()?;
    let (Size::About(written, _) | Size::AtLeast(written) | Size::AtMost(written)) = size;
    let unit = match (quantity_unit(of), written.parts()) {
        (Unit::Plain, (_, "%")) => Unit::Share,
        (own, _) => own,
    };
    Some(format_interval(unit, ours.interval()))
}

fn format_size(size: &Size) -> String {
    let plain = |written: &Written| {
        let (number, unit) = written.parts();
        format!("{number} {unit}").trim_end().to_owned()
    };
    match size {
        Size::AtLeast(least) => format!("at least {}", plain(least)),
        Size::AtMost(most) => format!("at most {}", plain(most)),
        Size::About(value, error) if error.amount == 0.0 => plain(value),
        Size::About(value, error) => match (value.parts(), error.parts()) {
            ((number, unit), (error, same)) if unit == same => {
                format!("{number} +- {error} {unit}").trim_end().to_owned()
            }
            _ => format!("{} +- {}", plain(value), plain(error)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_with_their_error_and_one_unit() {
        let written = |amount: f64, text: &str| Written { amount, text: text.to_owned() };
        let about = |value, error| format_size(&Size::About(value, error));
        assert_eq!(
            about(written(19.2e6, "19.2Mbit/s"), written(5e4, "0.05Mbit/s")),
            "19.2 +- 0.05 Mbit/s"
        );
        assert_eq!(about(written(0.5, "50%"), written(0.0, "0%")), "50 %");
        assert_eq!(about(written(1.29, "1.29"), written(0.005, "0.005")), "1.29 +- 0.005");
        assert_eq!(about(written(1.0, "1s"), written(0.05, "50ms")), "1 s +- 50 ms");
        assert_eq!(format_size(&Size::AtMost(written(3e6, "3Mbit/s"))), "at most 3 Mbit/s");
    }
}
