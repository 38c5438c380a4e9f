//! Yardsticks: what no schedule can pass, computed from a world's paths and buffers before anything is run.
//!
//! A byte sent on path i occupies the buffer for at least its *hold time* h_i: the way there, a packet's serialisation,
//! and the way of the SACK back. With rates x_i and a buffer of B bytes, sum x_i h_i <= B, and no link carries more than
//! its rate. `docs/yardsticks.md` has the reasoning, and how far the figures can be off.

mod bound;
mod message;
mod network;
mod over_time;
mod program;
mod share;
#[cfg(test)]
mod tests;

pub use share::{FlowShares, Share, Shares};

use message::Sending;
use polypath_sim::WorldSpec;
use polypath_sim::spec::{AppSpec, FlowSpec, MessageSpec};
use serde::Serialize;

/// The limits of a world's flows.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldLimits {
    /// In the order of the flows, each as if it were alone.
    pub flows: Vec<Result<Limits, NoLimit>>,
    /// Payload bit/s that all saturated flows can carry together; `None` with fewer than two of them.
    pub joint: Option<Result<f64, NoLimit>>,
}

/// What one flow can carry, payload bit/s, means over its measuring time.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// For data whose order does not matter: unordered with NR-SACK, or ordered streams that can be spread.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// The limits of all flows of a world in a run with this seed, which repeating schedules may draw from.
pub fn of_world(spec: &WorldSpec, seed: u64) -> WorldLimits {
    if spec.repeats.is_empty() {
        return limits(spec);
    }
    let mut drawn = spec.clone();
    for link in &mut drawn.topology.links {
        link.config.schedule = spec.link_schedule(&link.name, seed);
    }
    limits(&drawn)
}

/// The limits of a world whose links' own schedules have every change.
fn limits(spec: &WorldSpec) -> WorldLimits {
    let saturated = spec.flows.iter().filter(|flow| sending(flow).is_ok()).count();
    WorldLimits {
        flows: spec.flows.iter().map(|flow| over_time::alone(spec, flow)).collect(),
        joint: (saturated > 1).then(|| over_time::together(spec)),
    }
}

/// How the flow sends, if it always has something to send.
fn sending(flow: &FlowSpec) -> Result<Sending, NoLimit> {
    let messages: &MessageSpec = match &flow.app {
        AppSpec::Saturated { messages, .. } => messages,
        AppSpec::File { .. }
        | AppSpec::ConstantRate { .. }
        | AppSpec::OnOff { .. }
        | AppSpec::RequestResponse { .. } => return Err(NoLimit::NotSaturated(flow.name.clone())),
    };
    if flow.reader.rate.is_some() || !flow.reader.pauses.is_empty() {
        return Err(NoLimit::SlowReader(flow.name.clone()));
    }
    Sending::of(flow, messages.bytes).ok_or_else(|| NoLimit::NoRoom(flow.name.clone()))
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
