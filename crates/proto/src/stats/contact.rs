//! Whether a path is heard of.

use crate::time::Time;

/// What was heard of a path: for whoever asks why it carries nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathContact {
    /// When a packet came on it, or data that it carried was acknowledged, last; `None`: never.
    pub last_heard: Option<Time>,
    /// Timeouts and heartbeats without an answer, in a row: the error counter of RFC 9260 section
    /// 8.2.
    pub unanswered: u32,
    /// It fell silent while other paths did not, and carries no data meanwhile.
    pub silent: bool,
}
