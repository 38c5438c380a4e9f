//! What streams declare, how long it is tried to deliver their messages, and streams beside an
//! application's own.

use polypath_proto::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Delay, Size};

/// What a stream declares that it needs of the paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NeedsSpec {
    /// What counts for its messages.
    pub service: Service,
    /// Lower goes first, strictly.
    pub priority: u16,
    /// How long after it was handed in a message should be delivered. Absent: no matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Delay>,
}

/// When messages are given up: one of the three. Needs the extension pr-sctp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReliabilitySpec {
    /// So long after it was handed in a message is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Delay>,
    /// A message is given up when it is lost once more often than this; 0: it is never sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<u32>,
    /// A message is given up when the send buffer has no room for one that goes before it: one of a
    /// lower number, or one that is fully reliable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
}

impl ReliabilitySpec {
    /// How many of the three are given.
    pub(crate) fn count_given(&self) -> usize {
        let set =
            [self.lifetime.is_some(), self.retransmissions.is_some(), self.priority.is_some()];
        set.into_iter().filter(|set| *set).count()
    }
}

/// Messages at a fixed interval, on a stream of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BesideSpec {
    /// Size of a message, up to 64KiB.
    pub message: Size,
    /// Time from one message to the next.
    pub every: Delay,
    /// Whether messages may be delivered in any order. Absent: no.
    #[serde(default)]
    pub unordered: bool,
    /// When its messages are given up. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliability: Option<ReliabilitySpec>,
    /// What the stream declares. Absent: nothing.
    #[serde(default)]
    pub needs: NeedsSpec,
}
