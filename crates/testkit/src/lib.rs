//! What tests of several crates share; for tests only.

pub mod conformance;
