//! May a path take more of the send or receive buffer?

pub(crate) mod shared;
pub(crate) mod split;

pub use split::{Measure, Side, Slack, SplitBuffer, Window};

use crate::entry::PolicyEntry;

/// Buffer policies, in the order in which lists show them. A new one adds its line here, and its
/// `mod` line above.
pub(crate) const ENTRIES: &[PolicyEntry] = &[shared::ENTRY, split::ENTRY];
