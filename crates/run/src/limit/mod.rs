//! Throughput bounds: what no schedule can pass, computed from a world's paths and buffers before
//! anything is run.
//!
//! A byte sent on path i occupies the buffer for at least its *hold time* h_i: the way there, a
//! packet's serialisation, and the way of the SACK back. With rates x_i and a buffer of B bytes,
//! sum x_i h_i <= B, and no link carries more than its rate. `docs/explanation/throughput-bounds.md` has the
//! reasoning, and how far the figures can be off.

mod bound;
mod message;
mod model;
mod network;
mod over_time;
mod program;
mod share;
#[cfg(test)]
mod tests;
mod world;

pub use model::{Limits, NoLimit, SackRoute, WorldLimits};
pub use share::{BoundUtilisation, FlowUtilisation, Share};
pub use world::of_world;
