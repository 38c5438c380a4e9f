//! Arguments of `polypath forward` and `polypath serve`.

use clap::Args;
use polypath_apps::forward::permit::Permit;
use polypath_apps::forward::spec::{DynamicSpec, ForwardSpec};
use polypath_apps::forward::target::Target;
use polypath_net::DEFAULT_PORT;
use polypath_scenario::units::{Delay, Size};

use crate::keys::{ClientKeyArgs, CommonKeyArgs, ServerKeyArgs};
use crate::reach::RouteArgs;
use crate::recording::CaptureArgs;
use crate::stack::StackArgs;

#[derive(Debug, Args)]
pub(crate) struct ForwardArgs {
    /// The server: a name of config.toml, or its addresses or names, with its UDP port if that is
    /// not 9899.
    #[arg(long, value_name = "HOST[:PORT][,...]")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) forwards: Forwards,
    /// Carry stdin and stdout to this place, and end with it, as ssh's ProxyCommand wants it.
    #[arg(
        long,
        value_name = "HOST:PORT",
        conflicts_with_all = ["local_forward", "remote_forward", "dynamic_forward", "json"]
    )]
    pub(crate) stdio: Option<Target>,
    #[command(flatten)]
    pub(crate) route: RouteArgs,
    /// How long one attempt to reach the server may take.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) connect_timeout: Delay,
    /// Use an association of our own, also where another `forward` to this server runs.
    #[arg(long)]
    pub(crate) no_join: bool,
    #[command(flatten)]
    pub(crate) peer: ClientKeyArgs,
    #[command(flatten)]
    pub(crate) common: ForwardCommon,
}

/// What is forwarded.
#[derive(Debug, Args)]
pub(crate) struct Forwards {
    /// Take connections here and carry them to a place that the server reaches; may be repeated.
    #[arg(short = 'L', long = "local-forward", value_name = "[BIND:]PORT:HOST:PORT")]
    pub(crate) local_forward: Vec<ForwardSpec>,
    /// Let the server take connections, and carry them to a place that this host reaches; may be
    /// repeated.
    #[arg(short = 'R', long = "remote-forward", value_name = "[BIND:]PORT:HOST:PORT")]
    pub(crate) remote_forward: Vec<ForwardSpec>,
    /// Be a SOCKS proxy here, whose connections the server makes; may be repeated.
    #[arg(short = 'D', long = "dynamic-forward", value_name = "[BIND:]PORT")]
    pub(crate) dynamic_forward: Vec<DynamicSpec>,
}

impl Forwards {
    /// Whether there is nothing.
    pub(crate) const fn is_empty(&self) -> bool {
        self.local_forward.is_empty()
            && self.remote_forward.is_empty()
            && self.dynamic_forward.is_empty()
    }

    /// Adds what else is to be forwarded.
    pub(crate) fn extend(&mut self, more: Self) {
        self.local_forward.extend(more.local_forward);
        self.remote_forward.extend(more.remote_forward);
        self.dynamic_forward.extend(more.dynamic_forward);
    }
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen, at least one address of this host; the UDP port is 9899 by default.
    #[arg(long, value_name = "ADDR[:PORT]")]
    pub(crate) listen: Vec<String>,
    /// Where clients may connect: HOST:PORT, HOST being a name, *.NAME, an address, a network,
    /// internet (what is public, but this host) or anywhere, PORT also 8000-8010 or *; or
    /// unix:/PATH. May be repeated; without it nowhere.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) permit: Vec<Permit>,
    /// Where clients may listen (-R), beside the ports from 1024 on of loopback addresses: as with
    /// --permit.
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',')]
    pub(crate) permit_listen: Vec<Permit>,
    /// Let in whoever connects; otherwise --allow has to name who may.
    #[arg(long, conflicts_with = "allow")]
    pub(crate) allow_anyone: bool,
    /// Clients at a time.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    pub(crate) max_clients: u16,
    /// Connections of one client at a time.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=30_000)
    )]
    pub(crate) max_connections: u32,
    /// Offer clients no mirror, by which `polypath doctor` finds out what NAT does to packets.
    #[arg(long)]
    pub(crate) no_mirror: bool,
    #[command(flatten)]
    pub(crate) clients: ServerKeyArgs,
    #[command(flatten)]
    pub(crate) common: ForwardCommon,
}

#[derive(Debug, Args)]
pub(crate) struct ForwardCommon {
    /// SCTP port of the server.
    #[arg(long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    /// Bytes that may wait here for slow readers, over all connections of an association; by
    /// default half of the largest receive buffer.
    #[arg(long, value_name = "SIZE")]
    pub(crate) waiting: Option<Size>,
    /// Give an association up when the peer has been silent for so long on every path.
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub(crate) timeout: Delay,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
    #[command(flatten)]
    pub(crate) keys: CommonKeyArgs,
    /// Print what happens as JSON, a line each.
    #[arg(long)]
    pub(crate) json: bool,
}
