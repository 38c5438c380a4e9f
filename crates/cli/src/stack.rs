//! Options of the stack, the same for all programs on real networks.

use std::str::FromStr;

use clap::Args;
use polypath_apps::place;
use polypath_net::{AssocConfig, PathMtuDiscovery, WatchConfig};
use polypath_policies::{PolicySpec, profile};
use polypath_scenario::units::Size;

use crate::failure::Failure;

/// The smallest buffer that a transfer's messages fit in, several at a time.
const SMALLEST_BUFFER: u32 = 16 << 10;
/// Of Ethernet: what is tried first where sizes are found out.
const USUAL_MTU: u32 = 1500;

#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// The stack of this end.
    #[arg(long, value_name = "NAME", default_value = "fast", value_parser = ["fast", "paper"])]
    pub(crate) profile: String,
    /// Send and receive buffers of this end, such as 2MB or 64KiB; by default the profile's.
    #[arg(long, value_name = "SIZE", value_parser = buffer)]
    pub(crate) buffer: Option<u32>,
    /// The buffers grow up to this with what the paths can carry; by default they stay as they are.
    #[arg(long, value_name = "SIZE", value_parser = buffer)]
    pub(crate) buffer_max: Option<u32>,
    /// The largest IP packet that every path carries; auto: found out for each path (docs/path-mtu.md).
    #[arg(long, value_name = "BYTES", default_value = "1500")]
    pub(crate) mtu: Mtu,
}

impl StackArgs {
    /// The profile with what was said on top.
    pub(crate) fn parts(&self) -> Result<(AssocConfig, PolicySpec), Failure> {
        let (mut assoc, policies) =
            if self.profile == "paper" { profile::paper() } else { profile::fast() };
        if let Some(bytes) = self.buffer {
            assoc.receive_buffer = bytes;
            assoc.send_buffer = bytes.into();
        }
        if let Some(most) = self.buffer_max {
            let least = u64::from(assoc.receive_buffer).max(assoc.send_buffer);
            if u64::from(most) < least {
                let (most, least) = (Size(most.into()), Size(least));
                let text = format!("--buffer-max {most}: below the buffer (allowed: from {least})");
                return Err(Failure::input(text));
            }
            assoc.receive_buffer_max = Some(most);
            assoc.send_buffer_max = Some(most.into());
        }
        assoc.path_mtu = self.mtu.guess();
        assoc.path_mtu_discovery = match self.mtu {
            Mtu::Fixed(_) => None,
            Mtu::Auto => Some(PathMtuDiscovery::default()),
        };
        // Somebody looks on and wants to be told.
        assoc.watch = Some(WatchConfig::default());
        place::let_addresses_change(&self.profile, &mut assoc);
        Ok((assoc, policies))
    }
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
    pub(crate) const fn guess(self) -> u32 {
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

fn buffer(text: &str) -> Result<u32, String> {
    let size = text.parse::<Size>().map_err(|error| error.to_string())?;
    let bytes =
        u32::try_from(size.0).ok().filter(|bytes| (SMALLEST_BUFFER..=1 << 30).contains(bytes));
    bytes.ok_or_else(|| "16KiB to 1024MiB are allowed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(buffer: Option<u32>, buffer_max: Option<u32>, mtu: &str) -> StackArgs {
        StackArgs { profile: "fast".to_owned(), buffer, buffer_max, mtu: mtu.parse().unwrap() }
    }

    #[test]
    fn buffers_grow_from_what_they_are() {
        let (assoc, _) = args(Some(1 << 16), Some(1 << 20), "1400").parts().unwrap();
        assert_eq!((assoc.receive_buffer, assoc.receive_buffer_max), (1 << 16, Some(1 << 20)));
        assert_eq!((assoc.send_buffer, assoc.send_buffer_max), (1 << 16, Some(1 << 20)));
        assert_eq!((assoc.path_mtu, assoc.path_mtu_discovery), (1400, None));
        let error = args(None, Some(1 << 20), "1500").parts().unwrap_err();
        let error = error.message();
        assert!(error.contains("--buffer-max 1MiB") && error.contains("from 4MiB"), "{error}");
    }

    #[test]
    fn packet_sizes_are_given_or_found() {
        let (assoc, _) = args(None, None, "auto").parts().unwrap();
        assert_eq!(assoc.path_mtu, 1500);
        assert_eq!(assoc.path_mtu_discovery, Some(PathMtuDiscovery::default()));
        for bad in ["", "575", "65536", "AUTO", "1e3"] {
            assert!(bad.parse::<Mtu>().unwrap_err().contains("auto"), "{bad}");
        }
    }
}
