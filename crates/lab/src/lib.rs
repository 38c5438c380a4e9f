//! Experiments: scenario files, the stacks they describe, their runs, and what came out.

pub mod catalogue;
pub mod demo;
pub mod emulation;
pub mod evaluate;
pub mod example;
pub mod experiment;
pub mod figure;
pub mod format;
pub mod limit;
pub mod output;
pub mod profile;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod stats;
pub mod store;
pub mod sweep;
pub mod table;
pub mod units;
pub mod world;

pub use polypath_sim::RunResult;
