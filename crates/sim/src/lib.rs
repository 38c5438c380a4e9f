//! A deterministic discrete-event simulator that drives SCTP endpoints over links, in integer nanoseconds.
//!
//! A run is a pure function of a [`WorldSpec`] and a seed.

mod agenda;
mod app;
mod check;
mod deed;
mod end;
mod flow;
mod ledger;
mod meter;
mod network;
pub mod observer;
mod pcap;
mod random;
mod reader;
mod report;
mod responses;
pub mod results;
mod run;
pub mod spec;
mod topology;
mod trace_file;
mod world;

pub use check::SpecError;
pub use end::Side;
pub use observer::Observer;
pub use pcap::Pcap;
pub use random::{named_key, named_rng};
pub use results::RunResult;
pub use run::run;
pub use spec::WorldSpec;
pub use topology::DuplexPath;
pub use world::World;
