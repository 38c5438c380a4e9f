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
