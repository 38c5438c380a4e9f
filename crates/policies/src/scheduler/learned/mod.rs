//! `learned`: a small neural network, from a file, weighs the paths.
//!
//! Once per interval the same network is applied to each usable path, beside the mean of all
//! (Zaheer et al., *Deep Sets*, NIPS 2017): so it works for any number of paths, and their order
//! does not matter. [`Learned`] has the details and the format of the file.
//!
//! A run repeats bit for bit on any machine: sums have a fixed order, and tanh, exp and log come
//! from `libm`, as those of the standard library differ from system to system.

mod error;
mod file;
mod net;
mod policy;
#[cfg(test)]
mod tests;

pub use error::LearnedError;
pub use policy::Learned;

use polypath_proto::policy::PathScheduler;

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("learned", read_options)
    .summary("shares by weight, as a small neural network decides once per interval")
    .source("this project; shares by start-time fair queueing, Goyal et al. 1996")
    .options(&[OptionEntry {
        name: "file",
        default: "",
        values: "<file>",
        summary: "the network, JSON of the format polypath-learned; it must be given",
    }])
    .needs(&["file"]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let learned = Learned::from_json(&options.file("file")?)
        .map_err(|error| options.refuse_file("file", error))?;
    Ok(Box::new(move |_, _| Box::new(learned.clone().into_scheduler())))
}
