//! Experiments: scenario files, the stacks they describe, their runs, and what came out.

pub mod profile;
pub mod scenario;
pub mod schema;
pub mod sweep;
pub mod units;
pub mod world;
