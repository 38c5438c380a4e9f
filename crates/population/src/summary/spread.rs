//! How ratios are spread over draws, for diagrams.

use super::members::{Members, application_members, class_members, limit_members};
use super::ratio::{to_best_path, to_limit};
use crate::record::Record;

/// Ratios of draws that have something in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// What they have in common.
    pub name: String,
    /// One per draw, ascending.
    pub ratios: Vec<f64>,
}

/// The spreads of a population. Those without draws are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Spreads {
    /// Ours over the best path alone, of all draws and by class.
    pub classes: Vec<Spread>,
    /// Ours over the best path alone, by application.
    pub applications: Vec<Spread>,
    /// Ours over the limit, by application, and of all draws that have one.
    pub limits: Vec<Spread>,
}

impl Spreads {
    /// The spreads of these records.
    pub fn of_records(records: &[Record]) -> Self {
        let over_best = |record: &Record| Some(to_best_path(record));
        Self {
            classes: spread_ratios(class_members(records), over_best),
            applications: spread_ratios(application_members(records), over_best),
            limits: spread_ratios(limit_members(records), to_limit),
        }
    }
}

fn spread_ratios(
    groups: Vec<Members<'_>>,
    ratio_of: impl Fn(&Record) -> Option<f64>,
) -> Vec<Spread> {
    let spread = |(name, members): Members<'_>| {
        let mut ratios: Vec<f64> = members.into_iter().filter_map(&ratio_of).collect();
        ratios.sort_by(f64::total_cmp);
        (!ratios.is_empty()).then(|| Spread { name: name.to_owned(), ratios })
    };
    groups.into_iter().filter_map(spread).collect()
}
