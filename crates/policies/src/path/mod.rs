//! Which path carries the next new data?

pub(crate) mod blest;
pub(crate) mod daps;
pub(crate) mod ecf;
pub(crate) mod fixed;
pub(crate) mod knapsack;
pub(crate) mod min_rtt;
pub(crate) mod otias;
pub mod out;
pub(crate) mod out_split;
mod outlook;
mod packet;
pub(crate) mod primary;
pub(crate) mod redundant;
pub(crate) mod rr;
pub(crate) mod sttf;
pub(crate) mod weighted;

pub use blest::Blest;
pub use daps::Daps;
pub use ecf::{Backlog, Ecf};
pub use fixed::{FixedMap, StreamMap};
pub use knapsack::Knapsack;
pub use min_rtt::{MinRtt, Unmeasured};
pub use otias::Otias;
pub use out::CmtOut;
pub use out_split::OutSplit;
pub use redundant::Redundant;
pub use rr::{RoundRobin, Visit};
pub use sttf::Sttf;
pub use weighted::{Weighted, WeightedConfig, WhenFull};
