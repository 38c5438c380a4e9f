//! What limits speak of: flows and their limits, paths as far as they matter here.

use schemars::JsonSchema;
use serde::Serialize;

/// The limits of a world's flows.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldLimits {
    /// In the order of the flows, each as if it were alone.
    pub flows: Vec<Result<Limits, NoLimit>>,
    /// Payload bit/s that all saturated flows can carry together; `None` with fewer than two of
    /// them.
    pub joint: Option<Result<f64, NoLimit>>,
}

/// What one flow can carry, payload bit/s, means over its measuring time.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// For data whose order does not matter: unordered with NR-SACK, or ordered streams that can be
    /// spread.
    pub free: f64,
    /// For one ordered stream.
    pub ordered: f64,
    /// For the best of the paths alone, with the same buffer and SACKs on that path.
    pub best_path: f64,
    /// Name of the best path.
    pub best: String,
    /// The buffer in payload bytes: what fits the smaller one of both ends' buffers.
    pub buffer: f64,
    /// The way of the SACKs.
    pub sack_route: SackRoute,
}

/// By which path SACKs return, as far as the hold time of data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackRoute {
    /// The path with the shortest way back.
    Fastest,
    /// The path of the data that they answer.
    Own,
    /// The primary path.
    Primary,
}

/// Why there is no limit. Each says what to compare with instead, if there is something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLimit {
    /// The flow sends less than it could.
    #[error("flow {0} does not always have something to send")]
    NotSaturated(String),
    /// Packets are filled differently each time.
    #[error("flow {0} has messages of varying size")]
    SizesVary(String),
    /// The application reads more slowly than data may come.
    #[error("flow {0} is read at a rate of its own")]
    SlowReader(String),
    /// Packets are lost.
    #[error("path {0} loses packets; compare with a run of the best path alone")]
    Lossy(String),
    /// A link without a rate.
    #[error("path {0} has no rate")]
    NoRate(String),
    /// The rate follows a trace.
    #[error("path {0} follows a trace")]
    Trace(String),
    /// Packets of others take a part that nobody knows.
    #[error("link {0} carries cross traffic")]
    Cross(String),
    /// Paths are disabled or become a backup, or the association is closed.
    #[error("flow {0} is told to avoid paths or to close")]
    Told(String),
    /// The buffer is smaller than a message.
    #[error("the buffers of flow {0} hold no whole message")]
    NoRoom(String),
    /// A path of the flow has no way through the network.
    #[error("path {0} leads nowhere")]
    NoWay(String),
    /// The linear program has no solution, which numbers of many magnitudes may cause.
    #[error("the linear program was not solved: {0}")]
    Program(String),
}

impl SackRoute {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Fastest => "by the fastest way back",
            Self::Own => "on the path of their data",
            Self::Primary => "on the primary path",
        }
    }
}

/// One path, as far as the limits go.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    /// Hold time in s, SACKs by the route of the flow.
    pub(super) hold: f64,
    /// Hold time in s, SACKs on the path itself.
    pub(super) own_hold: f64,
    /// Payload bit/s of each of its links, by the number of the link. None: the path is down.
    pub(super) links: Vec<(usize, f64)>,
}

impl Path {
    /// Payload bit/s of its slowest link; nothing while it is down.
    pub(super) fn rate(&self) -> f64 {
        let slowest = self.links.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
        if self.links.is_empty() { 0.0 } else { slowest }
    }

    pub(super) fn shares_links_with(&self, other: &Self) -> bool {
        self.links.iter().any(|(link, _)| other.links.iter().any(|(known, _)| known == link))
    }
}
