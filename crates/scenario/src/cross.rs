//! Traffic that is not ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::Direction;
use crate::units::{Delay, Rate, Size};

/// Packets of others: they enter a link, leave it at its end, and are answered by nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CrossTraffic {
    /// A link by name, or a path of `[path.*]`: then its core link.
    pub link: String,
    /// Which way. Absent: forward, from client to server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// How much while it sends, headers included.
    pub rate: Rate,
    /// Size of the packets, headers included. Absent: 1500B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Size>,
    /// How packets follow one another. Absent: poisson.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// How long it sends, then is silent for `off` (means of exponential distributions unless
    /// `fixed`). Absent: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Delay>,
    /// How long it is silent (likewise).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Delay>,
    /// Times on and off are fixed, not drawn. Absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<bool>,
    /// When it begins. Absent: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// When it ends. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Delay>,
}

/// How packets follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// By chance, without memory.
    #[default]
    Poisson,
    /// At even distances.
    Even,
}
