//! Experiments: scenarios with claims, the runs that they need on all cores, and the verdicts.

pub mod disk;
pub mod evaluate;
pub mod experiment;
pub mod output;
pub mod recording;
pub mod reproduce;
pub mod stats;
pub mod store;
pub mod sweep;
