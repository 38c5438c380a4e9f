//! The five questions that policies answer.

use core::fmt;

/// Which question a policy answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKind {
    /// Which path carries the next new data?
    PathScheduler,
    /// Which stream's message is next?
    StreamScheduler,
    /// Which path carries a retransmission?
    Retransmission,
    /// May a path take more of the buffers?
    Buffer,
    /// How do congestion windows change?
    Congestion,
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PathScheduler => "path scheduler",
            Self::StreamScheduler => "stream scheduler",
            Self::Retransmission => "retransmission policy",
            Self::Buffer => "buffer policy",
            Self::Congestion => "congestion control",
        })
    }
}
