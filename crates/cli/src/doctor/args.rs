//! Arguments of `polypath doctor`.

use std::time::Duration;

use clap::Args;
use polypath_apps::doctor::LONGEST_WAIT;
use polypath_apps::keys::Fingerprint;
use polypath_net::DEFAULT_PORT;
use polypath_scenario::units::Delay;

use crate::keys::CommonKeyArgs;
use crate::quantity::some_duration;
use crate::reach::RouteArgs;

pub(crate) const DOCTOR_HELP: &str = "\
Examples:
  polypath doctor --to vps
  polypath doctor --to 192.0.2.5,198.51.100.5 --paths eth0,wwan0
  polypath doctor --to vps --long
  polypath doctor --to vps --json | jq '.findings[] | select(.mark != \"ok\")'
It takes some seconds, 25 at most; --long up to 5 min more.
NAT and ECN can be asked of `polypath serve`, all else also of `perf -s` and
`receive`.
Exit codes:
  0    every path that was named carries
  1    some do not
  2    wrong arguments, also addresses and devices that this host does not have
  3    none does
  5    a file, key or socket of this host
  6    none does: the server is not known, not who it was, or does not let us in
  130  interrupted";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The server: a name of config.toml, or its addresses or names, with its UDP port if that is
    /// not 9899. Two addresses tell more of NAT than one.
    #[arg(long, value_name = "HOST[:PORT][,...]")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) route: RouteArgs,
    /// Also find out for how long NAT and firewalls let answers in, by waits of up to this.
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "300s",
        value_parser = parse_long
    )]
    pub(crate) long: Option<Duration>,
    /// How long an answer may take.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) connect_timeout: Delay,
    /// SCTP port of the server.
    #[arg(long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The server has to have this key, which `polypath id` prints there; by default one of the
    /// file known-peers. Nobody is asked about a key that is not known.
    #[arg(long, value_name = "pp:KEY", conflicts_with_all = ["insecure", "psk"])]
    pub(crate) peer: Option<Fingerprint>,
    #[command(flatten)]
    pub(crate) keys: CommonKeyArgs,
    /// Print JSON instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_long(text: &str) -> Result<Duration, String> {
    let longest = Duration::from_secs(LONGEST_WAIT.into());
    let given = some_duration(text)?;
    if given > longest {
        return Err(format!("too long (allowed: 1ms to {LONGEST_WAIT}s)"));
    }
    Ok(given)
}
