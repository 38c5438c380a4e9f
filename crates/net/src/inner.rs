//! What all handles of an endpoint share.

use std::sync::Arc;

use crate::error::Warning;
use crate::shared::Shared;

/// Alive as long as any handle is.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) port: u16,
    pub(crate) warnings: Vec<Warning>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.abandon_endpoint();
    }
}
