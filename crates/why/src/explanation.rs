//! What comes out: waits by path and cause.

use std::collections::BTreeMap;

use serde::Serialize;

/// What data waited for.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// For a chunk that was lost on its path.
    Loss,
    /// For a chunk that took longer than its path needs at least.
    Queue,
    /// For a chunk on a slower path.
    Reordering,
    /// For a chunk that a closed window held back, the peer's or those of the paths.
    Window,
    /// For a chunk that its sender held back for another reason: see [`Hold`].
    Sender,
    /// For the application: to read it, or to send the rest of its message.
    Application,
}

impl Cause {
    /// All, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Loss, Self::Queue, Self::Reordering, Self::Window, Self::Sender, Self::Application];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Queue => "queue",
            Self::Reordering => "reordering",
            Self::Window => "window",
            Self::Sender => "sender",
            Self::Application => "application",
        }
    }
}

/// What holds a sender back: windows and pacing with [`Cause::Window`], the path scheduler and
/// Nagle's rule with [`Cause::Sender`].
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The peer's receive window is closed.
    PeerWindow,
    /// No path may send: congestion windows, Max.Burst or the buffer policy.
    Paths,
    /// The path scheduler waits although a path is open.
    Scheduler,
    /// The next packet of the chosen path waits for its time.
    Pacing,
    /// What is queued does not fill a packet (Nagle's rule).
    Company,
}

impl Hold {
    /// What a wait for it is charged to.
    pub const fn cause(self) -> Cause {
        match self {
            // What is paced waits for its part of a window, or of the rate that stands in its place.
            Self::PeerWindow | Self::Paths | Self::Pacing => Cause::Window,
            Self::Scheduler | Self::Company => Cause::Sender,
        }
    }
}

/// For how long something held data back that was waited for.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// What.
    pub by: Hold,
    /// Time charged to it, ns.
    pub time_ns: u128,
}

/// What the data of an association waited for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// Name of the association.
    pub flow: String,
    /// How the clocks of two files were set; none where both ends are in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// Traces whose last line ends in its midst: what came then is not in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut_short: Vec<String>,
    /// Of each end that data came to.
    pub directions: Vec<Direction>,
}

/// How two clocks were set by each other: half of the least round trip of the nearest path is the
/// least one-way delay there.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocks {
    /// The end whose clock was compared with the other one's.
    pub host: String,
    /// By how much its clock is ahead, ns.
    pub ahead_ns: i64,
    /// The nearest path.
    pub path: u8,
    /// Its least round trip, ns.
    pub round_trip_ns: u64,
}

/// What came to one end.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Direction {
    /// The sender.
    pub from: String,
    /// The receiver, where data waited.
    pub to: String,
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// When the first chunk was sent, and when the receiver's trace ends, ns.
    pub over_ns: (u64, u64),
    /// All waiting.
    pub whole: Measure,
    /// The same by path and cause, most time first; it adds up to the whole.
    pub charged: Vec<Charged>,
    /// What held data back, most time first, where the trace tells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<Held>,
    /// The longest episodes, longest first.
    pub episodes: Vec<Episode>,
    /// Names of paths: their addresses, where the trace has them.
    pub paths: BTreeMap<u8, String>,
    /// Spans in which something waited, in order, and for what most of it did. They add up to the
    /// time of the whole.
    #[serde(skip)]
    pub spans: Vec<Span>,
}

/// How much waited.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// Time in which any data waited, ns. Each moment counts once: for the path and cause for which
    /// most bytes waited.
    pub time_ns: u64,
    /// Bytes times the time that each of them waited: seconds in JSON, nanoseconds in Rust.
    #[serde(rename = "byte_seconds", serialize_with = "in_seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub byte_time_ns: u128,
}

fn in_seconds<S: serde::Serializer>(ns: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*ns as f64 / 1e9)
}

/// What is charged to a path and a cause.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Charged {
    /// The path, as the sender counts.
    pub path: u8,
    /// The cause.
    pub cause: Cause,
    /// How much.
    pub measure: Measure,
}

/// Waiting for one path and cause, without a pause of 20 ms or more.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Episode {
    /// Begin, ns.
    pub from_ns: u64,
    /// End, ns.
    pub until_ns: u64,
    /// Of that, time in which data waited, ns.
    pub waited_ns: u64,
    /// The path.
    pub path: u8,
    /// The cause.
    pub cause: Cause,
    /// The most bytes that waited at once.
    pub most_bytes: u64,
    /// The chunk that was waited for most, or with the cause application: that waited most.
    pub tsn: u32,
}

/// Time in which something waited, most of it for this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Begin, ns.
    pub from_ns: u64,
    /// End, ns.
    pub until_ns: u64,
    /// The path.
    pub path: u8,
    /// The cause.
    pub cause: Cause,
}
