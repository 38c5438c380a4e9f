//! Results from outside: `sweep`, `plot`, `compare`, `reproduce`, and what an interruption leaves.

mod compare;
mod desk;
#[cfg(unix)]
mod interrupted;
mod plot;
mod reproduce;
mod shards;
mod sweep;
