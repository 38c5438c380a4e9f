//! What is asked and answered: one JSON object a line.
//!
//! ```json
//! {"polypath":1,"request":"paths","association":2}
//! {"polypath":1,"request":"set_path","path":"wwan0","to":"backup"}
//! {"polypath":1,"request":"events"}
//! ```
//!
//! Fields that are not known are passed over, so that later versions may add some; what is there
//! keeps its meaning as long as [`VERSION`] does. Times are seconds.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The version of these lines, their field `polypath`.
pub const VERSION: u32 = 1;

/// A longer request is none, bytes.
pub const LONGEST_REQUEST: usize = 4096;

/// Associations in one answer, at most.
pub const MOST: usize = 1000;

/// The state of a path that is there no more ([`PathStatus::state`]).
pub const REMOVED: &str = "removed";

/// A line, with its version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line<T> {
    /// The version: 1.
    pub polypath: u32,
    /// What is said.
    #[serde(flatten)]
    pub word: T,
}

/// What may be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// All of what the next three have.
    Status(Which),
    /// The paths of associations.
    Paths(Which),
    /// Their streams that wait longest.
    Streams(Which),
    /// What has limited them, and for how long.
    Limits(Which),
    /// What happens from now on, a line each, until the connection ends. An empty line says from
    /// time to time that nothing happened.
    Events,
    /// Says what a path may be used for. That holds for data sent from here, and for the
    /// associations that there are.
    SetPath {
        /// Its device, its address here, or its number.
        path: String,
        /// The use.
        to: Use,
        /// Of this association; of all without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        association: Option<u64>,
    },
}

/// Of which associations is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Which {
    /// Of this one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub association: Option<u64>,
    /// Of those with greater numbers than this: for the next ones, where there are more than an
    /// answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// Which request it is that is answered by a [`Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sections {
    /// [`Request::Status`].
    Status,
    /// [`Request::Paths`].
    Paths,
    /// [`Request::Streams`].
    Streams,
    /// [`Request::Limits`].
    Limits,
}

/// What a path may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// For data.
    On,
    /// For data while no other works.
    Backup,
    /// For nothing but heartbeats.
    Off,
}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// How things are.
    Status(Box<Status>),
    /// What happened.
    Event(EventLine),
    /// It was done, to so many paths.
    Done(usize),
    /// It was not understood, or not done: why.
    Error(String),
}

/// How things are in a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// The process.
    pub process: Process,
    /// Its associations, in ascending order of their numbers.
    pub associations: Vec<AssociationStatus>,
    /// How many more there are than these.
    #[serde(default)]
    pub more: usize,
}

/// A process with a control socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// What it is.
    pub command: String,
    /// The version of Polypath.
    pub version: String,
    /// For how long its socket is open, seconds.
    pub uptime: f64,
}

/// An association.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssociationStatus {
    /// Its number in its process, which no other has.
    pub association: u64,
    /// Its state, as RFC 9260 section 4 calls it.
    pub state: String,
    /// The peer's address of the primary path.
    pub peer: SocketAddr,
    /// Its packets are encrypted.
    pub encrypted: bool,
    /// Data from one end to the other.
    pub totals: Totals,
    /// What it holds in memory.
    pub buffers: Buffers,
    /// What limits it at present, in words.
    pub limited_by: String,
    /// For how long, seconds.
    pub limited_for: f64,
    /// Its paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<PathStatus>>,
    /// Outbound streams that wait, the longest first, eight at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Vec<StreamStatus>>,
    /// What has limited it, the longest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Vec<LimitShare>>,
}

/// Data from one end to the other, since it was set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Payload bytes sent for the first time.
    pub sent_bytes: u64,
    /// Payload bytes delivered here.
    pub delivered_bytes: u64,
    /// Messages handed in here.
    pub sent_messages: u64,
    /// Messages delivered here.
    pub delivered_messages: u64,
    /// DATA chunks retransmitted.
    pub retransmissions: u64,
    /// DATA chunks sent once more on another path while they were in flight.
    pub copies: u64,
    /// DATA chunks that came more than once.
    pub duplicates: u64,
}

/// What an association holds in memory, bytes of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Buffers {
    /// Size of the send buffer at present; left out when it has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_size: Option<u64>,
    /// Of it in use.
    pub send_used: u64,
    /// Of these not yet sent.
    pub unsent: u64,
    /// Size of the receive buffer at present.
    pub receive_size: u32,
    /// Of it in use.
    pub receive_used: u32,
    /// Of these above the cumulative TSN: they wait for what is missing.
    pub receive_out_of_order: u32,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathStatus {
    /// Its number in its association.
    pub path: u8,
    /// How it is called: its device or its address here, with the peer's where that says too
    /// little.
    pub name: String,
    /// The network device that its packets take, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// `active`, `silent`, `unconfirmed`, `potentially failed`, `inactive` or `removed`.
    pub state: String,
    /// What it may be used for.
    #[serde(rename = "use")]
    pub admin: Use,
    /// It is the primary path.
    pub primary: bool,
    /// What keeps it from sending more, or why it carries nothing, in words.
    pub limited_by: String,
    /// It does not carry what it could: it is silent, in doubt, or worse.
    pub trouble: bool,
    /// Payload bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload bytes received.
    pub received_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets received.
    pub received_packets: u64,
    /// DATA chunks sent, retransmissions included.
    pub sent_chunks: u64,
    /// Of these declared lost.
    pub lost_chunks: u64,
    /// Times that its T3-rtx timer expired.
    pub timeouts: u64,
    /// Smoothed round-trip time, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<f64>,
    /// The smallest ever measured, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<f64>,
    /// Retransmission timeout, seconds.
    pub rto: f64,
    /// Congestion window, DATA chunk bytes.
    pub cwnd: u64,
    /// In flight, DATA chunk bytes.
    pub in_flight: u64,
    /// Path MTU in use, bytes of an IP packet.
    pub mtu: u32,
    /// How long ago it was heard of, seconds; left out when never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_ago: Option<f64>,
}

/// An outbound stream that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamStatus {
    /// Its number.
    pub stream: u16,
    /// For how long its oldest data waits, seconds.
    pub waits: f64,
    /// What for: `acknowledgement`, `retransmission` (it was lost) or `sending`.
    #[serde(rename = "for")]
    pub on: String,
    /// The name of the path on which that data went out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Bytes not yet sent.
    pub unsent: u64,
    /// For how long the oldest of them wait, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent_for: Option<f64>,
    /// Bytes sent and not acknowledged.
    pub unacknowledged: u64,
}

/// For how long something limited an association.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitShare {
    /// `application`, `send_buffer`, `peer_window`, `congestion`, `rules`, `scheduler`, `pacing` or
    /// `no_path`.
    pub limit: String,
    /// The name of the path of `congestion` (the fastest of those whose windows were full) and of
    /// `scheduler` (for which it waited).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Seconds since the association was set up.
    pub seconds: f64,
}

/// Something that happened to an association.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventLine {
    /// When: seconds since 1970.
    pub time: f64,
    /// The number of the association.
    pub association: u64,
    /// The name of its path, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What happened, in words.
    pub text: String,
    /// Why, as far as is known, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Events before it that this reader missed because it was slow.
    #[serde(default)]
    pub missed: u64,
}

impl Use {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Backup => "backup",
            Self::Off => "off",
        }
    }
}

impl Sections {
    /// The request.
    pub const fn of(self, which: Which) -> Request {
        match self {
            Self::Status => Request::Status(which),
            Self::Paths => Request::Paths(which),
            Self::Streams => Request::Streams(which),
            Self::Limits => Request::Limits(which),
        }
    }
}

impl<T> From<T> for Line<T> {
    fn from(word: T) -> Self {
        Self { polypath: VERSION, word }
    }
}
