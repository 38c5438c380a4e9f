//! `rfc9260`: every path by itself.

use polypath_proto::policy::{CongestionControl, Rfc9260Rule};

use super::balia::Balia;
use super::coupling_mode::{self, CouplingMode};
use super::hystart;
use super::layer::Layered;
use super::unqueued::{self, Unqueued};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("rfc9260", read_options)
    .summary("RFC 9260 on each path by itself")
    .source("RFC 9260 section 7.2, S1 section II")
    .options(&[coupling_mode::NEVER, hystart::SWITCH, hystart::SAMPLES, unqueued::SWITCH]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let unqueued = options.choice("unqueued", &[("false", false), ("true", true)])?;
    let balia = Balia::for_coupled_paths(ENTRY.name);
    match (coupling_mode::read_mode(options)?, unqueued) {
        (CouplingMode::Never, false) => hystart::layered_recipe(Rfc9260Rule, options),
        (CouplingMode::Never, true) => {
            hystart::layered_recipe(Layered::new(Unqueued::new(), Rfc9260Rule), options)
        }
        (CouplingMode::Detected | CouplingMode::Always, false) => {
            hystart::layered_recipe(balia, options)
        }
        (CouplingMode::Detected | CouplingMode::Always, true) => {
            hystart::layered_recipe(Layered::new(Unqueued::new(), balia), options)
        }
    }
}
