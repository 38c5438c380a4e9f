//! What a sender learns about a path beyond its RTT and its window: bandwidth, ack aggregation, and
//! whose queue stands in front of the bottleneck.

pub mod competitor;
pub mod estimate;
pub(crate) mod feedback;
pub(crate) mod headroom;
pub(crate) mod rate_bound;
pub(crate) mod restless;
mod rounds;
pub(crate) mod train;
mod windowed_min;
