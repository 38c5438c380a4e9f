//! Which path carries a retransmission? (S1 section III)

pub(crate) mod asap;
pub(crate) mod cwnd;
pub(crate) mod lossrate;
pub(crate) mod rfc9260;
pub(crate) mod same;
pub(crate) mod soonest;
pub(crate) mod ssthresh;
mod tie;

pub use asap::RtxAsap;
pub use cwnd::RtxCwnd;
pub use lossrate::RtxLossrate;
pub use same::RtxSame;
pub use soonest::Soonest;
pub use ssthresh::RtxSsthresh;
