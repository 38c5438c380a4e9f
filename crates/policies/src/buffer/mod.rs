//! May a path take more of the send or receive buffer?

pub(crate) mod shared;
pub(crate) mod split;

pub use split::{Measure, Side, Slack, SplitBuffer, Window};
