//! Associations and the traffic on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::needs::{BesideSpec, NeedsSpec, ReliabilitySpec};
use super::stack::StackSpec;
use crate::units::{Delay, Rate, Size};

/// One association and its application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowSpec {
    /// Name in results. Absent: the application's, with a number when it occurs twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is sent.
    pub app: App,
    /// Names of the paths it may use, the first one primary. Absent: all. One name: single-path
    /// SCTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Who sends. Absent: forward, from client to server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Streams that the application uses. Absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u16>,
    /// Size of a message. Absent: 1452B, which fills a packet of 1500 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Size>,
    /// app = saturated, cbr, onoff: size of the greatest message, above `message`, at most 64KiB;
    /// each size is drawn from the seed, log-uniform. Absent: all messages have one size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_most: Option<Size>,
    /// Whether messages may be delivered in any order. Absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unordered: Option<bool>,
    /// When messages are given up that cannot be delivered. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliability: Option<ReliabilitySpec>,
    /// When the association is opened. Absent: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// When the application begins to send. Absent: once the association is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_at: Option<Delay>,
    /// `send-at`, or `start` without it, moves by up to this, later, drawn from the seed. Absent:
    /// 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Delay>,
    /// app = saturated: refill by each stream's own share of the send buffer (sender-queue
    /// information, S0 6.2). Absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_stream_share: Option<bool>,
    /// app = saturated: refill the stream that has the fewest unsent bytes. Absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_stream_backlog: Option<bool>,
    /// app = file: how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// app = cbr: payload per second; app = onoff: while on, absent: as fast as it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// app = onoff: how long it sends (the mean of an exponential distribution unless `fixed`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Delay>,
    /// app = onoff: how long it is silent (likewise).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Delay>,
    /// app = onoff: times are fixed, not drawn. Absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<bool>,
    /// app = request: size of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Size>,
    /// app = request: pause between a response and the next request. Absent: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Delay>,
    /// app = request: how many requests. Absent: until the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// What the application's streams need of the paths, for schedulers that heed it. Absent:
    /// nothing in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<NeedsSpec>,
    /// Streams beside the application's, which send at fixed intervals: the first one is numbered
    /// behind the application's last. Absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideSpec>,
    /// How fast the receiving application reads. Absent: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_rate: Option<Rate>,
    /// What differs from the scenario's stack for this flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackSpec>,
}

/// What an association carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// Always has something to send.
    Saturated,
    /// A file, then a graceful shutdown.
    File,
    /// A constant rate.
    Cbr,
    /// Sends and pauses in turn.
    Onoff,
    /// Request and response.
    Request,
}

impl App {
    /// As scenario files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Saturated => "saturated",
            Self::File => "file",
            Self::Cbr => "cbr",
            Self::Onoff => "onoff",
            Self::Request => "request",
        }
    }
}

/// A direction between the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From client to server.
    Forward,
    /// From server to client.
    Reverse,
}

impl FlowSpec {
    /// Whether the flow ends when its work is done.
    pub fn ends_by_itself(&self) -> bool {
        match self.app {
            App::File => true,
            App::Request => self.count.is_some(),
            App::Saturated | App::Cbr | App::Onoff => false,
        }
    }

    /// Streams of the application and beside it.
    pub fn stream_count(&self) -> u16 {
        let beside = u16::try_from(self.beside.len()).unwrap_or(u16::MAX);
        self.streams.unwrap_or(1).saturating_add(beside)
    }

    /// Whether any of its messages may be given up.
    pub fn may_give_up(&self) -> bool {
        self.reliability.is_some() || self.beside.iter().any(|beside| beside.reliability.is_some())
    }

    /// The size of a message: as given, or what fills a packet of 1500 bytes over IPv4.
    pub fn message_or_default(&self) -> Size {
        self.message.unwrap_or(Size(1452))
    }
}
