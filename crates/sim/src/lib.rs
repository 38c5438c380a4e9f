//! A deterministic discrete-event simulator that drives SCTP endpoints over links, in integer nanoseconds.
//!
//! A run is a pure function of a [`WorldSpec`] and a seed.

pub mod spec;

pub use spec::WorldSpec;
