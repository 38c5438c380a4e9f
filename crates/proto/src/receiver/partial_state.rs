//! When messages are delivered in part, and which of them will never be whole.

use crate::ids::StreamId;

/// When messages are delivered in part.
#[derive(Clone, Debug)]
pub(super) struct PartialDelivery {
    /// The partial delivery point, bytes; `None`: off.
    pub(super) point: Option<u32>,
    /// Messages delivered in part whose rest will not come, until the application is told.
    pub(super) aborted: Vec<(StreamId, bool)>,
}

impl PartialDelivery {
    pub(super) fn new(point: Option<u32>) -> Self {
        Self { point, aborted: Vec::new() }
    }

    pub(super) fn abort(&mut self, stream: StreamId, unordered: bool) {
        self.aborted.push((stream, unordered));
    }
}
