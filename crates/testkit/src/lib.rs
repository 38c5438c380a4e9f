//! What tests of several crates share; for tests only.

#![forbid(unsafe_code)]

pub mod conformance;
pub mod fingerprint;
pub mod interact;
pub mod invariants;
pub mod model;
pub mod packet;
pub mod pair;
pub mod puppet;
pub mod world;
