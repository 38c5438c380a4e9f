//! What is sent over a network.

use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An application. Of draws that are not plain, those that do not always have something to send get
/// a little more, for plain draws have the others only.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Application {
    /// One ordered stream that always has something to send.
    OneStream,
    /// Several ordered streams, filled in turn: a writer that blocks on the one whose turn it is.
    StreamsInTurn,
    /// Several ordered streams, each filled when it has the fewest unsent bytes.
    StreamsByBacklog,
    /// Messages in any order, always something to send.
    Unordered,
    /// Messages at even distances.
    Paced,
    /// Messages that come in bursts.
    Bursts,
    /// A file, then the end.
    File,
    /// Requests and responses.
    Requests,
}

impl Application {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::OneStream,
        Self::StreamsInTurn,
        Self::StreamsByBacklog,
        Self::Unordered,
        Self::Paced,
        Self::Bursts,
        Self::File,
        Self::Requests,
    ];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::OneStream => "one ordered stream",
            Self::StreamsInTurn => "streams in turn",
            Self::StreamsByBacklog => "streams by backlog",
            Self::Unordered => "unordered",
            Self::Paced => "paced",
            Self::Bursts => "bursts",
            Self::File => "file",
            Self::Requests => "requests",
        }
    }

    /// How many draws of 68 that are not plain have it.
    pub(crate) const fn weight(self) -> u32 {
        if self.is_saturated() { 7 } else { 10 }
    }

    /// Whether there is always something to send.
    pub const fn is_saturated(self) -> bool {
        matches!(
            self,
            Self::OneStream | Self::StreamsInTurn | Self::StreamsByBacklog | Self::Unordered
        )
    }

    /// Whether what counts is how late messages are.
    pub const fn is_latency_bound(self) -> bool {
        matches!(self, Self::Paced | Self::Bursts | Self::Requests)
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}
