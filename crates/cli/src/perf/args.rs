//! `polypath perf`: its letters are iperf3's where it has the same thing.

use std::str::FromStr;
use std::time::Duration;

use clap::{ArgGroup, Args};

use crate::keys::{ClientKeyArgs, CommonKeyArgs, ServerKeyArgs};
use crate::quantity::{duration, message_size, rate, some_duration};
use crate::recording::CaptureArgs;
use crate::stack::StackArgs;

/// The SCTP port of perf servers: that of iperf3.
pub(crate) const PORT: u16 = 5201;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("role").required(true))]
#[command(group = ArgGroup::new("load"))]
pub(crate) struct PerfArgs {
    /// Be the server: take part in tests, as many at once as clients ask for.
    #[arg(short, long, group = "role")]
    pub(crate) server: bool,
    /// Be the client: test against the server at these addresses or names, with its UDP port if
    /// that is not 9899.
    #[arg(short, long, group = "role", value_name = "HOST[:PORT][,...]")]
    pub(crate) client: Option<String>,
    /// Server: where to listen, at least one address of this host; the UDP port is 9899 by default.
    #[arg(long, value_name = "ADDR[:PORT]", conflicts_with = "client")]
    pub(crate) listen: Vec<String>,
    /// Server: end after the first client's test.
    #[arg(short = '1', long, conflicts_with = "client")]
    pub(crate) one_off: bool,
    /// Client: addresses to send from, each for a path of its own; by default what the routing
    /// table says.
    #[arg(
        long,
        value_name = "ADDR",
        value_delimiter = ',',
        conflicts_with_all = ["server", "paths"]
    )]
    pub(crate) local: Vec<std::net::IpAddr>,
    /// Client: network devices to send from, whatever the routing table says; auto: all, also those
    /// that appear later.
    #[arg(long, value_name = "DEVICE", value_delimiter = ',', conflicts_with = "server")]
    pub(crate) paths: Vec<String>,
    /// Every address here with every address there; by default the first with the first and so on
    /// if there are as many.
    #[arg(long, conflicts_with = "server")]
    pub(crate) mesh: bool,
    /// SCTP port of the server.
    #[arg(short, long, default_value_t = PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// How long to measure, such as 10s or 1m30; a plain number counts seconds.
    #[arg(
        short,
        long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = some_duration,
        conflicts_with = "server"
    )]
    pub(crate) time: Duration,
    /// Time between reports.
    #[arg(
        short,
        long,
        value_name = "TIME",
        default_value = "1s",
        value_parser = some_duration,
        conflicts_with = "server"
    )]
    pub(crate) interval: Duration,
    /// Time to leave out at the beginning, before --time counts.
    #[arg(
        short = 'O',
        long,
        value_name = "TIME",
        default_value = "0s",
        value_parser = duration,
        conflicts_with = "server"
    )]
    pub(crate) omit: Duration,
    /// Associations side by side, each with ports of its own.
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=128),
        conflicts_with = "server"
    )]
    pub(crate) parallel: u16,
    /// Streams of each association.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "server")]
    pub(crate) streams: u16,
    /// The server sends.
    #[arg(short = 'R', long, conflicts_with_all = ["server", "bidir"])]
    pub(crate) reverse: bool,
    /// Both send.
    #[arg(long, conflicts_with = "server")]
    pub(crate) bidir: bool,
    /// Bits per second of each association and direction, such as 20Mbit/s or 20M; by default as
    /// many as go.
    #[arg(
        short,
        long,
        value_name = "RATE",
        value_parser = rate,
        group = "load",
        conflicts_with = "server"
    )]
    pub(crate) bitrate: Option<u64>,
    /// Request and response in turn on every stream, of so many bytes (1,1 by default).
    #[arg(
        long,
        value_name = "SIZE[,SIZE]",
        num_args = 0..=1,
        default_missing_value = "1,1",
        group = "load",
        conflicts_with_all = ["server", "reverse", "bidir", "length"]
    )]
    pub(crate) request_response: Option<Exchange>,
    /// Bytes of a message; by default a packet is filled.
    #[arg(short, long, value_name = "SIZE", value_parser = message_size, conflicts_with = "server")]
    pub(crate) length: Option<u32>,
    /// Deliver messages without regard to order.
    #[arg(long, conflicts_with = "server")]
    pub(crate) unordered: bool,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    /// Give up when the server has not answered by then.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = duration,
        conflicts_with = "server"
    )]
    pub(crate) connect_timeout: Duration,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
    #[command(flatten)]
    pub(crate) peer: ClientKeyArgs,
    #[command(flatten)]
    pub(crate) clients: ServerKeyArgs,
    #[command(flatten)]
    pub(crate) keys: CommonKeyArgs,
    /// Show the paths live, as `polypath top` does, instead of lines per interval.
    #[arg(long, conflicts_with_all = ["json", "server", "no_control"])]
    pub(crate) live: bool,
    /// Print JSON: the client one object (docs/how-to/measure-a-network.md), the server one line
    /// per association.
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
}

impl PerfArgs {
    /// What the other end is told, if there is some of it.
    pub(crate) fn misplaced_key_option(&self) -> Option<&'static str> {
        let (client, server) = (&self.peer, &self.clients);
        let options = match self.client {
            Some(_) => [("--allow", server.allow.is_some()), ("--enroll", server.enroll)],
            None => [("--peer", client.peer.is_some()), ("--code", client.code.is_some())],
        };
        options.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

/// Sizes of request and response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) request: u32,
    pub(crate) response: u32,
}

impl FromStr for Exchange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (request, response) = text.split_once(',').unwrap_or((text, text));
        Ok(Self { request: message_size(request)?, response: message_size(response)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_and_response_have_sizes() {
        let exchange = "100,2KiB".parse::<Exchange>().unwrap();
        assert_eq!((exchange.request, exchange.response), (100, 2048));
    }
}
