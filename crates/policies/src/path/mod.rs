//! Which path carries the next new data?

pub(crate) mod fixed;
pub(crate) mod knapsack;
pub(crate) mod min_rtt;
pub mod out;
mod packet;
pub(crate) mod primary;
pub(crate) mod rr;

pub use fixed::{FixedMap, StreamMap};
pub use knapsack::Knapsack;
pub use min_rtt::{MinRtt, Unmeasured};
pub use out::CmtOut;
pub use rr::{RoundRobin, Visit};
