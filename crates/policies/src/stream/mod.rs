//! Which stream's message is next? (RFC 8260 section 3)

pub(crate) mod fair;
pub(crate) mod fcfs;
pub(crate) mod priority;
pub(crate) mod requirements;
pub(crate) mod rr;
pub(crate) mod rr_packet;
mod virtual_time;
pub(crate) mod wfq;

pub use priority::Priority;
pub use requirements::ByRequirements;
pub use rr::StreamRoundRobin;
pub use rr_packet::RoundRobinPacket;
pub use wfq::WeightedFair;

use crate::entry::PolicyEntry;

/// Stream schedulers, in the order in which lists show them. A new one adds its line here, and its
/// `mod` line above.
pub(crate) const ENTRIES: &[PolicyEntry] = &[
    fcfs::ENTRY,
    rr::ENTRY,
    rr_packet::ENTRY,
    priority::ENTRY,
    requirements::ENTRY,
    fair::ENTRY,
    wfq::ENTRY,
];

#[cfg(test)]
mod model;
