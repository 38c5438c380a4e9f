//! Results from outside: `sweep`, `plot`, `compare`, `reproduce`, and what an interruption leaves.

mod compare;
mod desk;
mod engines;
#[cfg(unix)]
mod interrupted;
mod plot;
mod reproduce;
mod shards;
mod sweep;
