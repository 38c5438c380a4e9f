//! Options of the stack, the same for all programs on real networks.

use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use polypath_apps::place;
use polypath_net::{AssocConfig, PathMtuDiscovery, Profile, StallDetectionConfig};
use polypath_policies::{PolicyError, PolicySpec, Registry, profile};
use polypath_scenario::units::Size;

use crate::failure::Failure;

/// The smallest buffer that a transfer's messages fit in, several at a time.
const SMALLEST_BUFFER: u32 = 16 << 10;
/// The largest one: a typing error shall not take all of a host's memory.
const LARGEST_BUFFER: u32 = 1 << 30;
/// Of Ethernet: what is tried first where sizes are found out.
const USUAL_MTU: u32 = 1500;

#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// The stack of this end.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = profile_parser())]
    pub(crate) profile: Profile,
    /// Path scheduler of this end, such as min-rtt; `polypath policies` lists them with their
    /// options.
    #[arg(long, value_name = "POLICY")]
    pub(crate) scheduler: Option<String>,
    /// Congestion control of this end, such as cubic; `polypath policies` lists them with their
    /// options.
    #[arg(short = 'C', long, value_name = "POLICY")]
    pub(crate) congestion: Option<String>,
    /// Send and receive buffers of this end, such as 2MB or 64KiB; by default the profile's.
    #[arg(long, value_name = "SIZE", value_parser = parse_buffer_size)]
    pub(crate) buffer: Option<u32>,
    /// The buffers grow up to this with what the paths can carry; by default they stay as they are.
    #[arg(long, value_name = "SIZE", value_parser = parse_buffer_size)]
    pub(crate) buffer_max: Option<u32>,
    /// The largest IP packet that every path carries; auto: found out for each path
    /// (docs/path-mtu.md).
    #[arg(long, value_name = "BYTES", default_value = "1500")]
    pub(crate) mtu: Mtu,
}

impl StackArgs {
    /// The profile with what was said on top, and room for at least so many outbound streams.
    pub(crate) fn assoc_config(&self, streams: u16) -> Result<AssocConfig, Failure> {
        let mut assoc = self.config_settings()?;
        assoc.outbound_streams = assoc.outbound_streams.max(streams);
        profile::config((assoc, self.policy_spec()?)).map_err(Failure::bad_input)
    }

    fn policy_spec(&self) -> Result<PolicySpec, Failure> {
        let registry = Registry::builtin();
        let refused =
            |flag| move |error: PolicyError| Failure::bad_input(format!("{flag}: {error}"));
        let (_, mut policies) = self.profile.stack();
        if let Some(scheduler) = &self.scheduler {
            registry.path_scheduler(scheduler).map(drop).map_err(refused("--scheduler"))?;
            policies.path_scheduler.clone_from(scheduler);
        }
        if let Some(congestion) = &self.congestion {
            registry.congestion(congestion).map(drop).map_err(refused("--congestion"))?;
            policies.congestion.clone_from(congestion);
        }
        Ok(policies)
    }

    fn config_settings(&self) -> Result<AssocConfig, Failure> {
        let (mut assoc, _) = self.profile.stack();
        // The send buffer of ns-2 has no end: a sender of all it has would fill this host's memory.
        assoc.send_buffer = assoc.send_buffer.min(LARGEST_BUFFER.into());
        if let Some(bytes) = self.buffer {
            assoc.receive_buffer = bytes;
            assoc.send_buffer = bytes.into();
        }
        if let Some(most) = self.buffer_max {
            let least = u64::from(assoc.receive_buffer).max(assoc.send_buffer);
            if u64::from(most) < least {
                let (most, least) = (Size(most.into()), Size(least));
                let text = format!("--buffer-max {most}: below the buffer (allowed: from {least})");
                return Err(Failure::bad_input(text));
            }
            assoc.receive_buffer_max = Some(most);
            assoc.send_buffer_max = Some(most.into());
        }
        assoc.path_mtu = self.mtu.initial_size();
        assoc.path_mtu_discovery = match self.mtu {
            Mtu::Fixed(_) => None,
            Mtu::Auto => Some(PathMtuDiscovery::default()),
        };
        // Somebody looks on and wants to be told.
        assoc.stall_detection = Some(StallDetectionConfig::default());
        place::let_addresses_change(self.profile, &mut assoc);
        Ok(assoc)
    }
}

/// Takes the names of profiles; help and errors list them.
fn profile_parser() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name)).try_map(|name| name.parse())
}

/// How large packets may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mtu {
    /// So many bytes.
    Fixed(u32),
    /// To be found out.
    Auto,
}

impl Mtu {
    /// Bytes, as long as nothing is known.
    pub(crate) const fn initial_size(self) -> u32 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Auto => USUAL_MTU,
        }
    }
}

impl FromStr for Mtu {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = text.parse().ok().filter(|bytes| (576..=65_535).contains(bytes));
        match (text, bytes) {
            ("auto", _) => Ok(Self::Auto),
            (_, Some(bytes)) => Ok(Self::Fixed(bytes)),
            _ => Err("576 to 65535 bytes and auto are allowed".to_owned()),
        }
    }
}

fn parse_buffer_size(text: &str) -> Result<u32, String> {
    let size = text.parse::<Size>().map_err(|error| error.to_string())?;
    let bytes = u32::try_from(size.0)
        .ok()
        .filter(|bytes| (SMALLEST_BUFFER..=LARGEST_BUFFER).contains(bytes));
    bytes.ok_or_else(|| "16KiB to 1024MiB are allowed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        stack: StackArgs,
    }

    fn args(line: &str) -> StackArgs {
        let words = std::iter::once("stack").chain(line.split_whitespace());
        <Line as clap::Parser>::try_parse_from(words).unwrap_or_else(|e| panic!("{e}")).stack
    }

    #[test]
    fn buffers_grow_from_what_they_are() {
        let line = "--buffer 64KiB --buffer-max 1MiB --mtu 1400";
        let assoc = args(line).assoc_config(0).unwrap();
        assert_eq!((assoc.receive_buffer, assoc.receive_buffer_max), (1 << 16, Some(1 << 20)));
        assert_eq!((assoc.send_buffer, assoc.send_buffer_max), (1 << 16, Some(1 << 20)));
        assert_eq!((assoc.path_mtu, assoc.path_mtu_discovery), (1400, None));
        let error = args("--buffer-max 1MiB").assoc_config(0).unwrap_err();
        let error = error.message();
        assert!(error.contains("--buffer-max 1MiB") && error.contains("from 4MiB"), "{error}");
    }

    #[test]
    fn packet_sizes_are_given_or_found() {
        let assoc = args("--mtu auto").assoc_config(0).unwrap();
        assert_eq!(assoc.path_mtu, 1500);
        assert_eq!(assoc.path_mtu_discovery, Some(PathMtuDiscovery::default()));
        for bad in ["", "575", "65536", "AUTO", "1e3"] {
            assert!(bad.parse::<Mtu>().unwrap_err().contains("auto"), "{bad}");
        }
    }

    #[test]
    fn a_profile_is_one_of_those_that_there_are() {
        for profile in Profile::ALL {
            let assoc = args(&format!("--profile {profile}")).assoc_config(20).unwrap();
            assert_eq!(assoc.outbound_streams, 20);
            assert!(assoc.send_buffer <= LARGEST_BUFFER.into(), "{profile}");
            assert_eq!(assoc.extensions.dynamic_addresses, !profile.is_reproduction());
        }
    }

    #[test]
    fn policies_are_chosen_by_name_and_unknown_ones_refused_with_the_list() {
        let line = "--scheduler min-rtt -C cubic";
        let policies = args(line).policy_spec().unwrap();
        assert_eq!((&*policies.path_scheduler, &*policies.congestion), ("min-rtt", "cubic"));
        for (line, known) in [("--scheduler best", "min-rtt"), ("--congestion best", "cubic")] {
            let error = args(line).assoc_config(0).unwrap_err();
            let flag = line.split(' ').next().unwrap();
            let begin = error.message().starts_with(&format!("{flag}: "));
            assert!(begin && error.message().contains(known), "{}", error.message());
        }
    }
}
