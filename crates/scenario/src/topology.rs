//! The network between the two hosts.

use polypath_proto::config::Encapsulation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::settings;
use super::trace_file::TraceFile;
use crate::flow::Direction;
use crate::units::{Delay, Packets, Probability, QueueSize, Rate, Size};

settings! {
    /// Settings of a link.
    pub struct LinkSettings {
        /// Transmission rate, headers included. Absent: packets take no time to send.
        rate: Rate,
        /// A file that says when the link can send, as recorded networks do, in place of `rate`:
        /// one line with a time in milliseconds for every 1500 bytes, repeated with the last time
        /// as period (Mahimahi's format). Its name is relative to the scenario file's folder.
        trace: TraceFile,
        /// Where in the trace the run begins. Absent: 0s.
        trace_start: Delay,
        /// The largest packet that the link carries, IP header included; larger ones vanish without
        /// a word. Absent: any.
        mtu: Size,
        /// Propagation delay in one direction. Absent: none.
        delay: Delay,
        /// Extra delay drawn for each packet, from 0 to this unless `jitter-shape` says otherwise.
        /// Absent: none.
        jitter: Delay,
        /// How the extra delay is spread. Absent: uniform.
        jitter_shape: JitterShape,
        /// Whether jitter may let packets overtake each other. Absent: no.
        reorder: bool,
        /// Room for packets that wait, without the one being sent. Absent: 100packets.
        queue: QueueSize,
        /// Random early detection; `queue`, in packets, is then its limit.
        red: Red,
        /// Loss of each packet, independently (Bernoulli).
        loss: Probability,
        /// Error of each bit, independently; one wrong bit loses the packet.
        bit_errors: Probability,
        /// Losses in bursts (Gilbert-Elliott).
        bursts: GilbertElliott,
        /// Numbers of the packets to lose, from 0, in the order in which they arrive at the link.
        lose: Vec<u64>,
        /// Where packets are lost. Absent: entry.
        loss_at: LossPlace,
    }

    /// A link, or a path of its own: settings of both directions, and what differs in one of them.
    pub struct PathSpec {
        /// What differs from client to server.
        forward: LinkSettings,
        /// What differs from server to client.
        reverse: LinkSettings,
        /// A link in front of and one behind the core link, in both directions: host, edge, core,
        /// edge, host.
        edge: LinkSettings,
        /// The box of `[nat.*]` that the client's end of the path is behind. Absent: none.
        nat: String,
    }
}

impl PathSpec {
    /// The settings of one direction. There a rate takes the place of a trace that both directions
    /// have, and a trace that of a rate.
    #[must_use]
    pub fn one_way(&self, direction: Direction) -> LinkSettings {
        let over = match direction {
            Direction::Forward => self.forward.as_ref(),
            Direction::Reverse => self.reverse.as_ref(),
        };
        let mut common = self.common();
        if over.is_some_and(|over| over.rate.is_some() || over.trace.is_some()) {
            (common.rate, common.trace) = (None, None);
        }
        common.overlaid(over)
    }

    /// The traces in it, with the dotted name of their table below this one.
    pub(crate) fn traces_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut TraceFile)> {
        let own = self.trace.as_mut().map(|trace| ("", trace));
        let tables = [
            (".forward", &mut self.forward),
            (".reverse", &mut self.reverse),
            (".edge", &mut self.edge),
        ];
        let inner = tables
            .into_iter()
            .filter_map(|(name, table)| Some((name, table.as_mut()?.trace.as_mut()?)));
        own.into_iter().chain(inner)
    }

    /// The traces in it.
    pub(crate) fn traces(&self) -> impl Iterator<Item = &TraceFile> {
        let tables = [&self.forward, &self.reverse, &self.edge].into_iter().flatten();
        self.trace.iter().chain(tables.filter_map(|table| table.trace.as_ref()))
    }
}

/// How extra delays are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterShape {
    /// From 0 to `jitter`, each as likely as any other.
    Uniform,
    /// The absolute value of a normal deviation whose standard deviation is half of `jitter`: one
    /// packet in 22 has more than `jitter`.
    HalfNormal,
}

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Red {
    /// Below this average queue no packet is dropped early.
    pub min: Packets,
    /// From this average queue on every packet is dropped.
    pub max: Packets,
    /// Drop probability as the average nears `max`.
    pub probability: Probability,
    /// Weight of the newest queue length in the average, as a share. Absent: 0.2%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Probability>,
}

/// A channel with a good and a bad state (Gilbert 1960, Elliott 1963), asked per packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GilbertElliott {
    /// Probability, after a packet, of leaving the good state.
    pub to_bad: Probability,
    /// Probability, after a packet, of leaving the bad state.
    pub to_good: Probability,
    /// Loss probability in the good state. Absent: 0%.
    #[serde(default)]
    pub loss_good: Probability,
    /// Loss probability in the bad state. Absent: 100%.
    #[serde(default = "default_probability")]
    pub loss_bad: Probability,
}

fn default_probability() -> Probability {
    Probability::ONE
}

/// Where packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossPlace {
    /// Before the queue: a lost packet takes neither room nor time.
    Entry,
    /// On the wire: a lost packet has waited and has been sent.
    Exit,
}

/// A path over links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RouteSpec {
    /// Names of links, from client to server; packets to the client take them backwards.
    pub links: Vec<String>,
    /// The box of `[nat.*]` that the client's end of the path is behind. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nat: Option<String>,
}

/// Addresses and encapsulation of the two hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Endpoints {
    /// IPv4 (20-byte header) or IPv6 (40-byte header).
    pub family: Family,
    /// SCTP directly over IP, or in UDP (8 bytes more, RFC 6951).
    pub encapsulation: Encapsulation,
    /// Whether the server has one address per path or one for all paths.
    pub server_addresses: ServerAddresses,
}

/// Address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// The server's addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerAddresses {
    /// One per path.
    #[default]
    PerPath,
    /// One for all paths: a client with several uplinks.
    One,
}
