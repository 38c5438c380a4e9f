//! What a world is made of: plain data, checked by [`WorldSpec::check`] and built by
//! [`World`](crate::World).

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use polypath_link::{Change, LinkConfig, Nanos, NatConfig};
use polypath_proto::config::{AssocConfig, Encapsulation, PathPairing};
use polypath_proto::view::PathAdmin;
use polypath_proto::{PathId, Reliability, StreamNeeds};

/// A whole simulation. Together with a seed it determines every packet.
#[derive(Clone, Debug, Default)]
pub struct WorldSpec {
    /// Hosts, links and the ways over them.
    pub topology: Topology,
    /// Associations and what they carry.
    pub flows: Vec<FlowSpec>,
    /// What happens to the world while it runs, beside the links' own schedules.
    pub actions: Vec<ActionSpec>,
    /// Changes to links that repeat.
    pub repeats: Vec<RepeatSpec>,
    /// Traffic of others.
    pub cross: Vec<CrossSpec>,
    /// How long to run and to measure.
    pub time: TimeSpec,
    /// Time between two samples of the time series in ns; `None`: no time series.
    pub sample_every: Option<Nanos>,
}

/// Hosts, links and the ways over them. Routers are where the links of a route meet; they forward
/// in no time.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Ends of the network.
    pub hosts: Vec<HostSpec>,
    /// Unidirectional links. A duplex link is two of them.
    pub links: Vec<LinkSpec>,
    /// Which links a packet crosses from one address to another. A packet without a route is
    /// dropped and counted.
    pub routes: Vec<RouteSpec>,
    /// Boxes that translate addresses at the end of the routes of those behind them.
    pub nats: Vec<NatSpec>,
}

/// A box that translates the addresses of a host: between its links and the rest of the network.
/// Flows over it are encapsulated in UDP, and opened from behind it.
#[derive(Clone, Debug)]
pub struct NatSpec {
    /// Its name, unique. It also selects the random stream of its ports.
    pub name: String,
    /// Addresses behind it, to which nobody else can send.
    pub inside: Vec<IpAddr>,
    /// How it behaves. Its external addresses belong to nobody else.
    pub config: NatConfig,
}

/// A host, which owns addresses and demultiplexes by SCTP port.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Its name in captures and traces.
    pub name: String,
    /// One per interface; no address belongs to two hosts.
    pub addresses: Vec<IpAddr>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name, unique. It also selects the link's random streams, so another link does not shift
    /// them.
    pub name: String,
    /// Rate, delay, queue, losses, schedule. Packet sizes include the IP header (and UDP's, if
    /// encapsulated).
    pub config: LinkConfig,
}

/// Changes that come again and again, such as a new rate every five seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatSpec {
    /// Its name, which selects its random stream.
    pub name: String,
    /// Names of the links that change, all alike.
    pub links: Vec<String>,
    /// When the first change comes, in ns.
    pub start: Nanos,
    /// From when on nothing changes any more, in ns; `None`: never.
    pub until: Option<Nanos>,
    /// Time between two changes in ns.
    pub period: Nanos,
    /// What changes.
    pub states: States,
}

/// What a repeating schedule sets.
#[derive(Clone, Debug, PartialEq)]
pub enum States {
    /// One after the other, then from the first again.
    InTurn(Vec<Change>),
    /// Drawn anew each time.
    Uniform(Uniform),
}

/// A value drawn between two others, both of which can come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Uniform {
    /// A rate in bit/s.
    Rate(u64, u64),
    /// A propagation delay in ns.
    Delay(Nanos, Nanos),
    /// The loss probability of each packet.
    Loss(f64, f64),
}

/// Packets of others, which enter a link, leave it at its end, and are answered by nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossSpec {
    /// Its name, unique; selects its random streams.
    pub name: String,
    /// Name of the link.
    pub link: String,
    /// Rate in bit/s while it sends, headers included.
    pub rate: u64,
    /// Size of its packets, headers included.
    pub packet_bytes: u32,
    /// How they follow one another.
    pub spacing: Spacing,
    /// How long it sends and how long it is silent, in turn; `None`: it always sends.
    pub on_off: Option<(Period, Period)>,
    /// When it begins, in ns.
    pub start: Nanos,
    /// From when on it sends no more, in ns; `None`: never.
    pub until: Option<Nanos>,
}

/// How packets follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// A Poisson process.
    #[default]
    Poisson,
    /// At even distances.
    Even,
}

/// The way from one address to another.
#[derive(Clone, Debug)]
pub struct RouteSpec {
    /// The name of the path; a path's two directions share it.
    pub name: String,
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// Names of the links in the order in which they are crossed; several routes may share a link.
    pub links: Vec<String>,
}

/// One association, its paths, and the application on top. The client sends to the server.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Its name, unique; selects the flow's random streams.
    pub name: String,
    /// The end that opens the association and sends.
    pub client: EndSpec,
    /// The end that accepts and reads.
    pub server: EndSpec,
    /// (client address, server address) of each path, in the order of path ids; the first is
    /// primary. A single pair makes ordinary single-path SCTP.
    pub paths: Vec<(IpAddr, IpAddr)>,
    /// How the ends pair the addresses that they learn from each other.
    pub pairing: PathPairing,
    /// Directly over IP or in UDP (RFC 6951).
    pub encapsulation: Encapsulation,
    /// When the client opens the association, in ns.
    pub connect_at: Nanos,
    /// Greatest delay of the opening in ns, drawn uniformly.
    pub connect_jitter: Nanos,
    /// When the application begins to send, in ns, at the earliest: not before the association is
    /// set up.
    pub start_at: Nanos,
    /// Greatest delay of this beginning in ns, drawn uniformly.
    pub start_jitter: Nanos,
    /// What is sent.
    pub app: AppSpec,
    /// What the application's streams declare.
    pub needs: StreamNeeds,
    /// How long the client tries to deliver the application's messages. Requests and responses are
    /// always delivered.
    pub reliability: Reliability,
    /// What the association carries beside that, each on a stream of its own behind the
    /// application's.
    pub beside: Vec<BesideSpec>,
    /// How the server reads.
    pub reader: ReaderSpec,
    /// Make both ends record trace events and hand them to the observer.
    pub trace: bool,
    /// Keep when each message was handed in and delivered: 32 bytes a message.
    pub record_messages: bool,
}

impl FlowSpec {
    /// A flow over `paths` that connects and sends at once, read at once, between ports 5000 and
    /// 5001.
    #[must_use]
    pub fn new(name: impl Into<String>, paths: Vec<(IpAddr, IpAddr)>, app: AppSpec) -> Self {
        Self {
            name: name.into(),
            client: EndSpec { port: 5000, assoc: Arc::default() },
            server: EndSpec { port: 5001, assoc: Arc::default() },
            paths,
            pairing: PathPairing::Index,
            encapsulation: Encapsulation::Raw,
            connect_at: 0,
            connect_jitter: 0,
            start_at: 0,
            start_jitter: 0,
            app,
            needs: StreamNeeds::default(),
            reliability: Reliability::Full,
            beside: Vec::new(),
            reader: ReaderSpec::default(),
            trace: false,
            record_messages: false,
        }
    }

    /// The same flow with these settings at both ends.
    #[must_use]
    pub fn with_assoc(mut self, assoc: Arc<AssocConfig>) -> Self {
        self.client.assoc = Arc::clone(&assoc);
        self.server.assoc = assoc;
        self
    }
}

/// One end of a flow.
#[derive(Clone, Debug)]
pub struct EndSpec {
    /// SCTP port, unique on its host.
    pub port: u16,
    /// Settings of the association at this end.
    pub assoc: Arc<AssocConfig>,
}

/// What an application sends.
#[derive(Clone, Debug)]
pub enum AppSpec {
    /// Keeps the send buffer full.
    Saturated {
        /// What its messages are like.
        messages: MessageSpec,
        /// How the streams share the send buffer.
        refill: Refill,
    },
    /// Sends a file, then shuts the association down.
    File {
        /// The file.
        content: FileContent,
        /// How it is cut into messages; the last one may be shorter.
        messages: MessageSpec,
    },
    /// Sends messages at a constant rate, and holds back those that find the send buffer full.
    ConstantRate {
        /// What its messages are like.
        messages: MessageSpec,
        /// Payload rate in bit/s.
        rate: u64,
    },
    /// Alternates between sending and silence.
    OnOff {
        /// What its messages are like.
        messages: MessageSpec,
        /// Payload rate in bit/s while on; `None`: saturated.
        rate: Option<u64>,
        /// Duration of sending.
        on: Period,
        /// Duration of silence.
        off: Period,
    },
    /// Sends a request, waits for the response, thinks, repeats.
    RequestResponse {
        /// Bytes of a request, at least 1.
        request_bytes: u32,
        /// Bytes of a response, at least 1.
        response_bytes: u32,
        /// Pause after a response in ns.
        think: Nanos,
        /// Requests in all; then the client shuts the association down. `None`: no end.
        count: Option<u64>,
    },
}

impl AppSpec {
    /// What its messages are like, if it has no end and no responses.
    pub(crate) const fn endless_messages(&self) -> Option<MessageSpec> {
        match self {
            Self::Saturated { messages, .. }
            | Self::ConstantRate { messages, .. }
            | Self::OnOff { messages, .. } => Some(*messages),
            Self::File { .. } | Self::RequestResponse { .. } => None,
        }
    }
}

/// Messages at a fixed interval, on a stream of their own beside an application without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BesideSpec {
    /// Payload bytes of a message, 1 to 65,536.
    pub bytes: u32,
    /// Time from one message to the next in ns, at least 1.
    pub every: Nanos,
    /// Deliver without regard to order.
    pub unordered: bool,
    /// How long it is tried to deliver them.
    pub reliability: Reliability,
    /// What the stream declares.
    pub needs: StreamNeeds,
}

/// What the messages of an application are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSpec {
    /// Payload bytes of a message, at least 1; where sizes vary, of the smallest.
    pub bytes: u32,
    /// Payload bytes of the greatest message, above `bytes` and at most 65,536: each size is drawn,
    /// log-uniform, from the flow's own random stream. Only of an application without an end.
    /// `None`: all messages have `bytes`.
    pub most_bytes: Option<u32>,
    /// Streams, used in turn from 0; at least 1.
    pub streams: u16,
    /// Deliver without regard to order.
    pub unordered: bool,
}

impl Default for MessageSpec {
    /// Fills a 1500-byte IPv4 packet: 1452 bytes, ordered, one stream.
    fn default() -> Self {
        Self { bytes: 1452, most_bytes: None, streams: 1, unordered: false }
    }
}

/// How a saturated application shares the send buffer among its streams (S0 section 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refill {
    /// Streams in strict turn while there is room: all get the rate of the slowest.
    #[default]
    RoundRobin,
    /// In turn, but only streams that hold less than their equal part of the send buffer, unsent
    /// and unacknowledged bytes together, as sender-queue information tells them.
    Contingent,
    /// The stream that has the fewest unsent bytes first, equal ones in turn, so that no stream
    /// runs dry while another one queues.
    LeastUnsent,
}

/// What a file holds.
#[derive(Clone, Debug)]
pub enum FileContent {
    /// So many bytes of a pattern that the receiver checks.
    Pattern(u64),
    /// These bytes; the receiver checks and collects them.
    Bytes(Bytes),
}

impl FileContent {
    /// Bytes of the file.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Pattern(bytes) => *bytes,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A duration, fixed or drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Always so many ns.
    Fixed(Nanos),
    /// Exponentially distributed with this mean in ns.
    Exponential(Nanos),
}

/// How the server reads. The default reads everything at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReaderSpec {
    /// Payload bit/s read at most; `None`: no limit.
    pub rate: Option<u64>,
    /// Times (from, to) in ns during which nothing is read.
    pub pauses: Vec<(Nanos, Nanos)>,
}

/// Something that happens at a given time.
#[derive(Clone, Debug)]
pub struct ActionSpec {
    /// When, in ns.
    pub at: Nanos,
    /// What.
    pub action: Action,
}

/// What can happen to a running world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Takes one link down; what is on it is lost.
    CutLink(String),
    /// Takes one link up again.
    RestoreLink(String),
    /// Takes down all links of the routes with this name, both directions.
    CutPath(String),
    /// Takes them up again.
    RestorePath(String),
    /// Sets what the client wants of one of its paths.
    PathAdmin {
        /// Name of the flow.
        flow: String,
        /// Which path of the client's association.
        path: PathId,
        /// The wish.
        admin: PathAdmin,
    },
    /// The client closes the association: gracefully, once all is delivered.
    Shutdown(String),
    /// The client aborts the association.
    Abort(String),
}

/// How long to run and to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpec {
    /// When the statistics are reset, in ns.
    pub settle: Nanos,
    /// Time in ns from then to the end of the run, at most.
    pub measure: Nanos,
    /// End as soon as every flow with an end (files, counted requests) is over, if there is one.
    pub stop_when_done: bool,
}

impl Default for TimeSpec {
    /// No settling, 60 s at most, ending with the last finite flow.
    fn default() -> Self {
        Self { settle: 0, measure: 60_000_000_000, stop_when_done: true }
    }
}
