//! `cmt`: every path by itself.

use polypath_proto::policy::{CongestionControl, Rfc9260Rule};

use super::couple::{self, Couple};
use super::{Balia, Unqueued, hystart, unqueued};
use crate::PolicyError;
use crate::entry::{PolicyEntry, Recipe};
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("cmt", configure)
    .summary("RFC 9260 on each path by itself")
    .source("RFC 9260 section 7.2, S1 section II")
    .options(&[couple::NEVER, hystart::SWITCH, hystart::SAMPLES, unqueued::SWITCH]);

fn configure(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let unqueued = options.choice("unqueued", &[("false", false), ("true", true)])?;
    let balia = Balia::coupled(ENTRY.name);
    match (couple::choice(options)?, unqueued) {
        (Couple::Never, false) => hystart::recipe(Rfc9260Rule, options),
        (Couple::Never, true) => hystart::recipe(Unqueued::new(Rfc9260Rule), options),
        (Couple::Detected | Couple::Always, false) => hystart::recipe(balia, options),
        (Couple::Detected | Couple::Always, true) => hystart::recipe(Unqueued::new(balia), options),
    }
}
