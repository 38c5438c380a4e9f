//! Which path carries a retransmission? (S1 section III)

pub(crate) mod asap;
pub(crate) mod cwnd;
pub(crate) mod earliest_delivery;
pub(crate) mod lossrate;
pub(crate) mod rfc9260;
pub(crate) mod same;
pub(crate) mod ssthresh;
mod tie_break;

pub use asap::RtxAsap;
pub use cwnd::RtxCwnd;
pub use earliest_delivery::EarliestDelivery;
pub use lossrate::RtxLossrate;
pub use same::RtxSame;
pub use ssthresh::RtxSsthresh;

use crate::entry::PolicyEntry;

/// Retransmission policies, in the order in which lists show them. A new one adds its line here,
/// and its `mod` line above.
pub(crate) const ENTRIES: &[PolicyEntry] = &[
    same::ENTRY,
    asap::ENTRY,
    cwnd::ENTRY,
    ssthresh::ENTRY,
    earliest_delivery::ENTRY,
    lossrate::ENTRY,
    rfc9260::ENTRY,
];
