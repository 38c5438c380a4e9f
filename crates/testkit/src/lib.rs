//! What tests of several crates share; for tests only.

pub mod conformance;
pub mod interact;
pub mod invariants;
pub mod model;
pub mod packet;
pub mod world;
