//! Random interaction: everything that applications, links and strangers can do to two endpoints,
//! in random order.
//!
//! A [`Script`] is made from a seed; [`run_script`] plays it, restores the links and demands that
//! everything ends: with all messages delivered and a graceful shutdown, or with a reported
//! failure. A script that fails is made short by [`shrink_script`].

mod app;
mod explore;
mod flood;
mod options;
mod parts;
mod run;
mod script;
mod setup;
mod shrink;
mod trouble;

pub use explore::{
    Failure, Summary, examine_script, examine_seed, explore_scripts, run_caught, triage_failures,
    triage_scripts,
};
pub use flood::Flood;
pub use run::{Ending, Report, packet_hash, run_script};
pub use script::{Op, Reconfigure, Script};
pub use setup::{EndSetup, LinkSetup, Policies, PolicyChoice, Setup};
pub use shrink::shrink_script;
pub use trouble::Trouble;
