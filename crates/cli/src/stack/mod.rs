//! Options of the stack, the same for all programs on real networks.

mod file;

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use polypath_apps::buffers::{BUFFERS, buffer_out_of_range};
use polypath_apps::place;
use polypath_net::{AssocConfig, PathMtuDiscovery, Profile, StallDetectionConfig};
use polypath_policies::PolicySpec;
use polypath_scenario::units::Size;

use self::file::Settings;
use crate::failure::Failure;
use crate::quantity::size;

/// Of Ethernet: what is tried first where sizes are found out.
const USUAL_MTU: u32 = 1500;

#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// The stack of this end; by default fast.
    #[arg(long, value_name = "NAME", value_parser = profile_parser())]
    profile: Option<Profile>,
    /// The stack from a file: a scenario, or its table [stack] alone; other options go first.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set a field of [stack] as scenarios name it, such as stream-scheduler=priority; may be
    /// repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// Path scheduler of this end, such as min-rtt; `polypath policies` lists them with their
    /// options.
    #[arg(long, value_name = "POLICY", visible_alias = "path-scheduler")]
    scheduler: Option<String>,
    /// Congestion control of this end, such as cubic; `polypath policies` lists them with their
    /// options.
    #[arg(short = 'C', long, value_name = "POLICY")]
    congestion: Option<String>,
    /// Send and receive buffers of this end, such as 2MB or 64KiB; by default the profile's.
    #[arg(long, value_name = "SIZE", value_parser = parse_buffer_size)]
    buffer: Option<u32>,
    /// The buffers grow up to this with what the paths can carry; by default they stay as they are.
    #[arg(long, value_name = "SIZE", value_parser = parse_buffer_size)]
    buffer_max: Option<u32>,
    /// The largest IP packet that every path carries; auto: found out for each path
    /// (docs/explanation/path-mtu.md); by default 1500.
    #[arg(long, value_name = "BYTES")]
    mtu: Option<Mtu>,
}

/// The stack of this end, put together.
#[derive(Debug)]
pub(crate) struct LocalStack {
    /// What it starts from.
    pub(crate) profile: Profile,
    /// Its settings, with its policies.
    pub(crate) assoc: AssocConfig,
}

impl StackArgs {
    /// The profile with what was said on top, and room for at least so many outbound streams.
    pub(crate) fn resolve(&self, streams: u16) -> Result<LocalStack, Failure> {
        self.resolve_with(streams, |_| ())
    }

    /// Likewise, of policies that the command knows better.
    pub(crate) fn resolve_with(
        &self,
        streams: u16,
        choose: impl FnOnce(&mut PolicySpec),
    ) -> Result<LocalStack, Failure> {
        let (mut stack, profile) = self.settings()?.stack()?;
        choose(&mut stack.policies);
        let policies = stack.policy_factory().map_err(Failure::bad_input)?;
        let mut assoc = AssocConfig { policies, ..stack.assoc };
        self.size_buffers(&mut assoc)?;
        self.choose_mtu(&mut assoc);
        // Somebody looks on and wants to be told.
        assoc.stall_detection = Some(StallDetectionConfig::default());
        place::let_addresses_change(profile, &mut assoc);
        assoc.outbound_streams = assoc.outbound_streams.max(streams);
        Ok(LocalStack { profile, assoc })
    }

    /// Whether the user said anything of the sizes of buffers.
    pub(crate) fn names_buffers(&self) -> bool {
        let of_buffers = |text: &String| text.contains("-buffer");
        self.buffer.is_some()
            || self.buffer_max.is_some()
            || self.config.is_some()
            || self.set.iter().any(of_buffers)
    }

    /// File and arguments by their names in scenarios.
    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::read(self.config.as_deref(), Profile::default())?;
        if let Some(profile) = self.profile {
            settings.set("--profile", "stack.profile", profile.name())?;
        }
        for text in &self.set {
            settings.assign(text)?;
        }
        let policies = [
            ("--scheduler", "stack.path-scheduler", &self.scheduler),
            ("--congestion", "stack.congestion", &self.congestion),
        ];
        for (origin, field, policy) in policies {
            if let Some(policy) = policy {
                settings.set(origin, field, policy)?;
            }
        }
        Ok(settings)
    }

    fn size_buffers(&self, assoc: &mut AssocConfig) -> Result<(), Failure> {
        // The send buffer of ns-2 has no end: a sender of all it has would fill this host's memory.
        assoc.send_buffer = assoc.send_buffer.min(*BUFFERS.end());
        if let Some(bytes) = self.buffer {
            assoc.receive_buffer = bytes;
            assoc.send_buffer = bytes.into();
        }
        let Some(most) = self.buffer_max else { return check_buffers(assoc) };
        let least = u64::from(assoc.receive_buffer).max(assoc.send_buffer);
        if u64::from(most) < least {
            let (most, least) = (Size(most.into()), Size(least));
            let text = format!("--buffer-max {most}: below the buffer (allowed: from {least})");
            return Err(Failure::bad_input(text));
        }
        assoc.receive_buffer_max = Some(most);
        assoc.send_buffer_max = Some(most.into());
        check_buffers(assoc)
    }

    /// Without an argument, the file's; without one there, what Ethernet carries.
    fn choose_mtu(&self, assoc: &mut AssocConfig) {
        if let Some(mtu) = self.mtu {
            assoc.path_mtu = mtu.initial_size();
            assoc.path_mtu_discovery = match mtu {
                Mtu::Fixed(_) => None,
                Mtu::Auto => Some(PathMtuDiscovery::default()),
            };
        }
    }
}

/// A file or `--set` names any size; what an argument may be, they may be, too.
fn check_buffers(assoc: &AssocConfig) -> Result<(), Failure> {
    let wrong = buffer_out_of_range(assoc).map(|(name, size)| {
        format!("stack.{name} = {}: 16KiB to 1024MiB are allowed here", Size(size))
    });
    wrong.map_or(Ok(()), |text| Err(Failure::bad_input(text)))
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
    let bytes = Some(size(text)?).filter(|size| BUFFERS.contains(size));
    let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
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
        let assoc = args(line).resolve(0).unwrap().assoc;
        assert_eq!((assoc.receive_buffer, assoc.receive_buffer_max), (1 << 16, Some(1 << 20)));
        assert_eq!((assoc.send_buffer, assoc.send_buffer_max), (1 << 16, Some(1 << 20)));
        assert_eq!((assoc.path_mtu, assoc.path_mtu_discovery), (1400, None));
        let error = args("--buffer-max 1MiB").resolve(0).unwrap_err();
        let error = error.message();
        assert!(error.contains("--buffer-max 1MiB") && error.contains("from 4MiB"), "{error}");
    }

    #[test]
    fn packet_sizes_are_given_or_found() {
        let assoc = args("--mtu auto").resolve(0).unwrap().assoc;
        assert_eq!(assoc.path_mtu, 1500);
        assert_eq!(assoc.path_mtu_discovery, Some(PathMtuDiscovery::default()));
        for bad in ["", "575", "65536", "AUTO", "1e3"] {
            assert!(bad.parse::<Mtu>().unwrap_err().contains("auto"), "{bad}");
        }
    }

    #[test]
    fn a_profile_is_one_of_those_that_there_are() {
        for profile in Profile::ALL {
            let assoc = args(&format!("--profile {profile}")).resolve(20).unwrap().assoc;
            assert_eq!(assoc.outbound_streams, 20);
            assert!(assoc.send_buffer <= *BUFFERS.end(), "{profile}");
            assert_eq!(assoc.extensions.dynamic_addresses, !profile.is_reproduction());
        }
    }

    #[test]
    fn policies_are_chosen_by_name_and_unknown_ones_refused_with_the_list() {
        let (stack, _) =
            args("--path-scheduler min-rtt -C cubic").settings().unwrap().stack().unwrap();
        let policies = &stack.policies;
        assert_eq!((&*policies.path_scheduler, &*policies.congestion), ("min-rtt", "cubic"));
        for (line, known) in [("--scheduler best", "min-rtt"), ("--congestion best", "cubic")] {
            let error = args(line).resolve(0).unwrap_err();
            let flag = line.split(' ').next().unwrap();
            let begin = error.message().starts_with(&format!("{flag}: "));
            assert!(begin && error.message().contains(known), "{}", error.message());
        }
    }

    #[test]
    fn a_file_has_the_names_of_scenarios_and_arguments_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stack.toml");
        let resolve = |text: &str, line: &str| {
            std::fs::write(&file, text).unwrap();
            args(&format!("--config {} {line}", file.display())).resolve(0)
        };
        let text = "[stack]\nprofile = \"paper\"\nreceive-buffer = \"128KiB\"\nmtu = \"1400B\"\n";
        let stack = resolve(text, "").unwrap();
        assert_eq!((stack.profile, stack.assoc.receive_buffer), (Profile::Paper, 128 << 10));
        assert_eq!(stack.assoc.path_mtu, 1400);
        let stack = resolve(text, "--buffer 64KiB --set rto-min=300ms --mtu 1300").unwrap();
        assert_eq!((stack.assoc.receive_buffer, stack.assoc.path_mtu), (64 << 10, 1300));
        assert_eq!(stack.assoc.rto.min.as_millis(), 300);
        assert_eq!(resolve("", "").unwrap().profile, Profile::Fast);
        assert_eq!(resolve(text, "--profile fast").unwrap().profile, Profile::Fast);
        let scenario = polypath_scenario::example::SCENARIO;
        assert_eq!(resolve(scenario, "").unwrap().profile, Profile::Paper);
        for (text, wanted) in [
            ("[stack]\nmtu = \"1B\"\n", "stack.toml:2: stack.mtu = \"1B\""),
            ("[stack]\nmtuu = \"1400B\"\n", "stack.toml:2: stack.mtuu"),
            ("[stack\n", "stack.toml:1: "),
        ] {
            let error = resolve(text, "").unwrap_err();
            assert!(error.message().contains(wanted), "{}", error.message());
        }
        let error = args("--config /nowhere/stack.toml").resolve(0).unwrap_err();
        assert!(error.message().starts_with("/nowhere/stack.toml: cannot be read: "));
        for (size, line) in [("4KiB", "receive-buffer"), ("2GiB", "receive-buffer-max")] {
            let error = args(&format!("--set {line}={size}")).resolve(0).unwrap_err();
            let wanted = format!("stack.{line} = {size}: 16KiB to 1024MiB");
            assert!(error.message().starts_with(&wanted), "{error:?}");
        }
        let error = args("--set rto-min=soon").resolve(0).unwrap_err();
        assert!(error.message().starts_with("--set: stack.rto-min = \"soon\": "), "{error:?}");
    }
}
