//! `cmt`: every path by itself.

use polypath_proto::policy::{CongestionControl, Rfc9260Rule};

use super::couple::{self, Couple};
use super::{Balia, hystart};
use crate::PolicyError;
use crate::entry::{PolicyEntry, Recipe};
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("cmt", configure)
    .summary("RFC 9260 on each path by itself")
    .source("RFC 9260 section 7.2, S1 section II")
    .options(&[couple::NEVER, hystart::SWITCH, hystart::SAMPLES]);

fn configure(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    match couple::choice(options)? {
        Couple::Never => hystart::recipe(Rfc9260Rule, options),
        Couple::Detected | Couple::Always => hystart::recipe(Balia::named(ENTRY.name), options),
    }
}
