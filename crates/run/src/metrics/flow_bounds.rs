//! The throughput bounds of one flow.

use crate::limit::{FlowUtilisation, Share};

/// The throughput bounds of a flow, and what was reached of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowBounds {
    /// Of data whose order does not matter.
    pub(super) free: Share,
    /// Of one ordered stream.
    pub(super) ordered: Share,
    /// Of the best path alone.
    pub(super) best_path: Share,
}

impl FlowBounds {
    /// `None`: the flow has none.
    pub(super) fn from_utilisation(shares: &FlowUtilisation) -> Option<Self> {
        let FlowUtilisation::Limited { free, ordered, best_path, .. } = shares else { return None };
        Some(Self { free: *free, ordered: *ordered, best_path: *best_path })
    }
}
