//! What a stream asks of the paths, for schedulers that map streams to paths by themselves (S0
//! names it as future work).

use crate::time::{Duration, Time};

/// What a stream declares. The default asks for nothing: as much as goes, in turn with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct StreamNeeds {
    /// What counts for its messages.
    pub service: Service,
    /// Lower goes first, strictly; equal for streams that share what there is.
    pub priority: u16,
    /// How long after it was handed in a message should be delivered. A wish: nothing is dropped
    /// for being late.
    pub deadline: Option<Duration>,
}

/// What counts for the messages of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Service {
    /// How much arrives.
    #[default]
    Throughput,
    /// How soon each message arrives: before waiting data, by the way that is fastest now. For
    /// streams that send little.
    LowDelay,
}

impl StreamNeeds {
    /// Whether its messages go before the data that waits.
    pub const fn is_urgent(&self) -> bool {
        matches!(self.service, Service::LowDelay)
    }

    /// When a message handed in at `enqueued` should be delivered; at once without a deadline of a
    /// low-delay stream.
    pub fn due(&self, enqueued: Time) -> Option<Time> {
        match (self.deadline, self.service) {
            (Some(deadline), _) => Some(enqueued + deadline),
            (None, Service::LowDelay) => Some(enqueued),
            (None, Service::Throughput) => None,
        }
    }
}
