//! Whether a path is heard of.

use std::time::Duration;

/// What was heard of a path: for whoever asks why it carries nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contact {
    /// How long ago a packet came on it, or data that it carried was acknowledged; `None`: nothing
    /// ever came back.
    pub silent_for: Option<Duration>,
    /// Timeouts and heartbeats without an answer, in a row.
    pub unanswered: u32,
    /// It fell silent while other paths did not, and carries no data meanwhile.
    pub silent: bool,
    /// Why the system refused to send on it, if it ever did.
    pub refusal: Option<String>,
}
