//! What streams declare, and streams beside an application's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Delay, Size};

/// What a stream declares that it needs of the paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NeedsSpec {
    /// What counts for its messages.
    pub service: ServiceSetting,
    /// Lower goes first, strictly.
    pub priority: u16,
    /// How long after it was handed in a message should be delivered. Absent: no matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Delay>,
}

/// What counts for the messages of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceSetting {
    /// How much arrives.
    #[default]
    Throughput,
    /// How soon each message arrives.
    LowDelay,
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
    /// What the stream declares. Absent: nothing.
    #[serde(default)]
    pub needs: NeedsSpec,
}
