//! `polypath perf`: its letters are iperf3's where it has the same thing.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgGroup, Args};
use polypath_scenario::units;

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
    #[arg(long, value_name = "ADDR", value_delimiter = ',', conflicts_with_all = ["server", "paths"])]
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
    /// Seconds to measure.
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = some_time, conflicts_with = "server")]
    pub(crate) time: Seconds,
    /// Seconds between reports.
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = some_time, conflicts_with = "server")]
    pub(crate) interval: Seconds,
    /// Seconds to leave out at the beginning, before --time counts.
    #[arg(
        short = 'O',
        long,
        value_name = "SECONDS",
        default_value = "0",
        conflicts_with = "server"
    )]
    pub(crate) omit: Seconds,
    /// Associations side by side, each with ports of its own.
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=128), conflicts_with = "server")]
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
    #[arg(short, long, value_name = "RATE", group = "load", conflicts_with = "server")]
    pub(crate) bitrate: Option<Rate>,
    /// Request and response in turn on every stream, of so many bytes (1,1 by default).
    #[arg(long, value_name = "SIZE[,SIZE]", num_args = 0..=1, default_missing_value = "1,1", group = "load", conflicts_with_all = ["server", "reverse", "bidir", "length"])]
    pub(crate) request_response: Option<Exchange>,
    /// Bytes of a message; by default a packet is filled.
    #[arg(short, long, value_name = "SIZE", conflicts_with = "server")]
    pub(crate) length: Option<Bytes>,
    /// Deliver messages without regard to order.
    #[arg(long, conflicts_with = "server")]
    pub(crate) unordered: bool,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    /// Seconds to wait for the server.
    #[arg(long, value_name = "SECONDS", default_value = "10", conflicts_with = "server")]
    pub(crate) connect_timeout: Seconds,
    /// Write every packet to this file, as pcapng for Wireshark; of packets that belong to no
    /// association, at most 1000 per second.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Show the paths live instead of lines per interval.
    #[arg(long, conflicts_with_all = ["json", "server"])]
    pub(crate) live: bool,
    /// Print JSON: the client one object (docs/perf.md), the server one line per association.
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
}

/// A time in seconds, kept in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) u64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.strip_suffix('s').unwrap_or(text);
        match plain.parse::<f64>() {
            Ok(seconds) if (0.0..=1e6).contains(&seconds) => {
                Ok(Self((seconds * 1e3).round() as u64))
            }
            _ => Err("seconds are expected, 0 to 1000000, such as 10 or 0.5".to_owned()),
        }
    }
}

/// As [`Seconds`], but a time in which something can happen.
fn some_time(text: &str) -> Result<Seconds, String> {
    let time: Seconds = text.parse()?;
    if time.0 == 0 { Err("at least 0.001 seconds are needed".to_owned()) } else { Ok(time) }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes(pub(crate) u32);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.parse::<u64>().ok();
        let bytes = plain.or_else(|| text.parse::<units::Size>().ok().map(|size| size.0));
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes > 0);
        bytes.map(Self).ok_or_else(|| "bytes are expected, such as 1444, 64KiB or 2MB".to_owned())
    }
}

/// Bits per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate(pub(crate) u64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let short = [("K", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)];
        let upper = text.to_uppercase();
        let short = short.iter().find_map(|(suffix, unit)| {
            let number = upper.strip_suffix(suffix)?.parse::<f64>().ok()?;
            (number > 0.0 && number * unit <= 1e12).then_some((number * unit) as u64)
        });
        let rate = short.or_else(|| text.parse::<units::Rate>().ok().map(|rate| rate.0));
        let rate = rate.filter(|rate| *rate > 0).map(Self);
        rate.ok_or_else(|| "a rate is expected, such as 20Mbit/s or 20M".to_owned())
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
        let (request, response) = (request.parse::<Bytes>()?, response.parse::<Bytes>()?);
        Ok(Self { request: request.0, response: response.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_may_be_written_as_iperf_users_do() {
        let rate = |text: &str| text.parse::<Rate>().map(|r| r.0);
        assert_eq!(
            [rate("20M"), rate("20Mbit/s"), rate("1.5g")],
            [Ok(20_000_000), Ok(20_000_000), Ok(1_500_000_000)]
        );
        assert!(rate("0").is_err() && rate("-1M").is_err() && rate("fast").is_err());
        let bytes = |text: &str| text.parse::<Bytes>().map(|b| b.0);
        assert_eq!(
            [bytes("1444"), bytes("64KiB"), bytes("2MB")],
            [Ok(1444), Ok(65_536), Ok(2_000_000)]
        );
        assert!(bytes("0").is_err() && bytes("5GB").is_err());
        assert_eq!("0.25".parse::<Seconds>().map(|s| s.0), Ok(250));
        assert!("-1".parse::<Seconds>().is_err() && "nan".parse::<Seconds>().is_err());
        let exchange = "100,2KiB".parse::<Exchange>().unwrap();
        assert_eq!((exchange.request, exchange.response), (100, 2048));
    }
}
