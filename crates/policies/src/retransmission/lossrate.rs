//! `lossrate`: RTX-LOSSRATE.

use polypath_proto::PathId;
use polypath_proto::policy::{Policy, RetransmissionPolicy, RtxPick};
use polypath_proto::rng::Rng;
use polypath_proto::view::{AssocView, RtxMeta};

use super::tie_break;
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::retransmission("lossrate", read_options)
    .summary("the path with the smallest loss rate, known from an oracle; ties at random")
    .source("S1 section III, RTX-LOSSRATE")
    .options(&[OptionEntry {
        name: "rates",
        default: "",
        values: "<rate,rate,...>",
        summary: "loss rates of the paths in order, 0 to 1; paths not listed have 0",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn RetransmissionPolicy>, PolicyError> {
    let rates = options.numbers("rates", 0.0..=1.0)?;
    Ok(Box::new(move |_, rng| Box::new(RtxLossrate::new(rates.clone(), rng.clone()))))
}

/// RTX-LOSSRATE. The rates are told, not measured.
#[derive(Clone, Debug)]
pub struct RtxLossrate {
    rates: Vec<f64>,
    rng: Rng,
}

impl RtxLossrate {
    /// A policy that knows the loss rate of each path, by id, and breaks ties by `rng`.
    pub const fn new(rates: Vec<f64>, rng: Rng) -> Self {
        Self { rates, rng }
    }
}

impl Policy for RtxLossrate {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl RetransmissionPolicy for RtxLossrate {
    fn pick_path(&mut self, view: &AssocView<'_>, _chunk: &RtxMeta) -> RtxPick {
        let rate = |p: PathId| self.rates.get(p.index()).copied().unwrap_or(0.0);
        tie_break::best_at_random(&mut self.rng, view.usable(), |a, b| {
            rate(b.id).total_cmp(&rate(a.id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{lost_on, paths, view};

    #[test]
    fn the_smallest_rate_among_the_usable() {
        let mut p = paths(3);
        let mut policy = RtxLossrate::new(vec![0.01, 0.1, 0.04], Rng::from_u64(1));
        assert_eq!(policy.pick_path(&view(&p), &lost_on(1)), RtxPick::Use(p[0].id));
        p[0].usable = false;
        assert_eq!(policy.pick_path(&view(&p), &lost_on(1)), RtxPick::Use(p[2].id));
    }
}
