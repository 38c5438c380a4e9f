//! May a path take more of the send or receive buffer?

use super::common::Policy;
use crate::ids::PathId;
use crate::view::AssocView;

/// Decides, before *new* data goes out on a path, whether that path may take more of the buffers
/// (S0 section 4.2, S4 section II: buffer splitting). Never asked for retransmissions.
///
/// When nothing is in flight on any path and every path is refused, the engine lets one packet go
/// all the same: a policy cannot dead-lock a transfer.
pub trait BufferPolicy: Policy {
    /// Whether `bytes` more payload bytes may go out on `path`.
    fn may_take(&self, view: &AssocView<'_>, path: PathId, bytes: u32) -> bool;

    /// Whether it ever refuses. One that never does is not asked for each chunk.
    fn restricts(&self) -> bool {
        true
    }

    /// The bytes granted to `path` in all, for traces; `u64::MAX` when not limited.
    fn share_of(&self, _view: &AssocView<'_>, _path: PathId) -> u64 {
        u64::MAX
    }
}

/// Buffers shared by all paths, first come first served: what RFC 9260 has.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedBuffer;

impl Policy for SharedBuffer {
    fn name(&self) -> &'static str {
        "shared"
    }
}

impl BufferPolicy for SharedBuffer {
    fn may_take(&self, _view: &AssocView<'_>, _path: PathId, _bytes: u32) -> bool {
        true
    }

    fn restricts(&self) -> bool {
        false
    }
}
