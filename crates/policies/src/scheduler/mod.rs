//! Which path carries the next new data?

pub(crate) mod blest;
pub mod cmt_out;
pub(crate) mod cmt_out_split;
pub(crate) mod daps;
pub(crate) mod ecf;
mod fair_queue;
pub(crate) mod fixed;
pub mod interval;
pub(crate) mod knapsack;
pub(crate) mod learned;
pub(crate) mod min_rtt;
mod open_packet;
pub(crate) mod otias;
pub(crate) mod primary;
pub(crate) mod redundant;
pub(crate) mod rr;
mod rtt_helpers;
pub(crate) mod sttf;
pub(crate) mod weighted;

pub use blest::Blest;
pub use cmt_out::CmtOut;
pub use cmt_out_split::CmtOutSplit;
pub use daps::Daps;
pub use ecf::{Backlog, Ecf};
pub use fixed::{FixedMap, StreamMap};
pub use interval::{Interval, IntervalPolicy};
pub use knapsack::Knapsack;
pub use learned::{Learned, LearnedError};
pub use min_rtt::{MinRtt, Unmeasured};
pub use otias::Otias;
pub use redundant::Redundant;
pub use rr::{RoundRobin, Visit};
pub use sttf::Sttf;
pub use weighted::{Weighted, WeightedConfig, WhenFull};

use crate::entry::PolicyEntry;

/// Path schedulers, in the order in which lists show them. A new one adds its line here, and its
/// `mod` line above.
pub(crate) const ENTRIES: &[PolicyEntry] = &[
    rr::ENTRY,
    primary::ENTRY,
    fixed::ENTRY,
    cmt_out::ENTRY,
    min_rtt::ENTRY,
    blest::ENTRY,
    ecf::ENTRY,
    otias::ENTRY,
    daps::ENTRY,
    sttf::ENTRY,
    weighted::ENTRY,
    cmt_out_split::ENTRY,
    knapsack::ENTRY,
    redundant::ENTRY,
    learned::ENTRY,
];
