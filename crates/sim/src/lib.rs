//! A deterministic discrete-event simulator that drives SCTP endpoints over links, in integer nanoseconds.
//!
//! A run is a pure function of a [`WorldSpec`] and a seed.

mod agenda;
mod check;
mod random;
pub mod results;
pub mod spec;
mod topology;

pub use check::SpecError;
pub use random::{named_key, named_rng};
pub use results::RunResult;
pub use spec::WorldSpec;
pub use topology::DuplexPath;
