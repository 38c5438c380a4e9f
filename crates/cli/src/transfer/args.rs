//! Arguments of `polypath send` and `polypath receive`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use polypath_net::DEFAULT_PORT;
use polypath_scenario::units::{Delay, Size};

use crate::keys::{ClientKeyArgs, CommonKeyArgs, ServerKeyArgs};
use crate::quantity::{self, to_duration};
use crate::reach::RouteArgs;
use crate::recording::CaptureArgs;
use crate::stack::StackArgs;

/// The slowest limit, bit/s: the smallest block takes a second.
const LEAST: u64 = 8_000;

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Files and folders; they keep the last part of their names.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The receiver's addresses or names, with its UDP port if that is not 9899.
    #[arg(long, value_name = "HOST[:PORT][,...]", required_unless_present = "dry_run")]
    pub(crate) to: Option<String>,
    /// Leave out what this fits; may be repeated. Without a slash it is held against the last part
    /// of every name, such as "*.o"; with one against the whole name from the first folder on, such
    /// as "holiday/raw/**". A folder is left out with all that is in it.
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// List what would be sent, and the totals, and connect to nobody.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Bits per second of files, at most, over all paths together, such as 20M or 2.5Mbit/s.
    #[arg(long, value_name = "RATE", value_parser = parse_limit)]
    pub(crate) limit: Option<NonZeroU64>,
    #[command(flatten)]
    pub(crate) route: RouteArgs,
    /// Give up when nobody has answered by then.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) connect_timeout: Delay,
    /// After a break connect again and go on, until nothing has got through for TIME; without TIME
    /// until Ctrl-C.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    pub(crate) retry: Option<Option<Delay>>,
    /// Be nobody whom receivers know: neither keep nor use the file by which they tell senders
    /// apart ($XDG_STATE_HOME/polypath/sender).
    #[arg(long)]
    pub(crate) no_state: bool,
    #[command(flatten)]
    pub(crate) peer: ClientKeyArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReceiveArgs {
    /// Where to listen, at least one address of this host; the UDP port is 9899 by default.
    #[arg(long, value_name = "ADDR[:PORT]")]
    pub(crate) listen: Vec<String>,
    /// Where files go; by default a new folder here, polypath-received or polypath-received-2 and
    /// so on.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Replace files of the same name, whoever stored them; by default the new one is called "NAME
    /// (2)".
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Take files and folders whose names begin with a dot, too: such files may steer programs.
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Take at most so much from all senders together, such as 50GB; by default as much as there is
    /// room for.
    #[arg(long, value_name = "SIZE")]
    pub(crate) quota: Option<Size>,
    /// End after the first transfer, with its exit code; who connects and transfers nothing does
    /// not count.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) senders: ServerKeyArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// SCTP port of the receiver.
    #[arg(long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    /// Give up when the peer has been silent for so long on every path, or has done nothing; by
    /// default 30s, with profiles paper and ns2 90s.
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Delay>,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
    #[command(flatten)]
    pub(crate) keys: CommonKeyArgs,
    /// The one of all commands.
    #[arg(skip)]
    pub(crate) quiet: bool,
    /// Print the result as JSON, one line per transfer (docs/how-to/send-files.md).
    #[arg(long)]
    pub(crate) json: bool,
}

impl CommonArgs {
    /// How long a peer may be silent.
    pub(crate) fn longest_silence(&self) -> Duration {
        // Whatever is wrong with the stack is said where it is used.
        let stack = self.stack.resolve(0);
        let is_slow = stack.is_ok_and(|stack| stack.profile.is_reproduction());
        let default = if is_slow { 90 } else { 30 };
        self.timeout.map_or(Duration::from_secs(default), to_duration)
    }
}

fn parse_limit(text: &str) -> Result<NonZeroU64, String> {
    let rate = NonZeroU64::new(quantity::rate(text)?).filter(|rate| rate.get() >= LEAST);
    rate.ok_or_else(|| "too slow (allowed: from 8kbit/s)".to_owned())
}
