//! The paths that the user's words name, and those of them that cannot be.

use std::net::{IpAddr, SocketAddr};

use polypath_net::{FourTuple, LocalAddress, Pairing};
use polypath_proto::config::MAX_PATHS;

use super::report::{PathReport, State};
use crate::paths;
use crate::place::{self, AUTO, PlaceError};

/// A path that was named.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedPath {
    /// From here to there.
    Between(LocalAddress, SocketAddr),
    /// It cannot be, as the report says.
    Cannot(Box<PathReport>),
}

/// The paths of `--local`, `--paths`, `--mesh` and a list of hosts, as `forward` makes them; and
/// what of it makes none.
///
/// # Errors
/// When a host is unknown, or a word is malformed.
pub fn named_paths(
    local: &[IpAddr],
    devices: &[String],
    mesh: bool,
    hosts: &str,
) -> Result<Vec<NamedPath>, PlaceError> {
    if local.is_empty() && devices.is_empty() {
        return routed_paths(hosts);
    }
    let (ours, mut found) = if devices.is_empty() {
        (local.iter().map(|&address| address.into()).collect(), Vec::new())
    } else {
        of_devices(devices, hosts)?
    };
    let remote = place::resolve_hosts(hosts, &ours)?;
    let pairing = if mesh { Pairing::Mesh } else { Pairing::Auto };
    let at: Vec<_> = ours.iter().map(|l| SocketAddr::new(l.address, 0)).collect();
    let pairs = pairing.pair_addresses(&at, &remote);
    let ends: Vec<_> = pairs.iter().map(|pair| (pair.local.ip(), pair.remote.ip())).collect();
    found.extend(paths::ours_left_out(&ours, hosts, &ends).into_iter().map(no_path));
    // Where there is no path at all, each of our addresses has said why.
    if !ends.is_empty() {
        found.extend(paths::theirs_left_out(&ours, hosts, &ends).into_iter().map(no_path));
    }
    let device_of = |pair: &FourTuple| ours.iter().find(|l| l.address == pair.local.ip()).cloned();
    let between = |pair: FourTuple| Some(NamedPath::Between(device_of(&pair)?, pair.remote));
    found.extend(pairs.into_iter().filter_map(between));
    Ok(at_most(found))
}

/// From where the routing table says.
fn routed_paths(hosts: &str) -> Result<Vec<NamedPath>, PlaceError> {
    let remote = place::resolve_hosts(hosts, &[])?;
    let path_to = |to: &SocketAddr| match place::routed_sources(core::slice::from_ref(to)) {
        Ok(sources) => sources.into_iter().next().map(|from| NamedPath::Between(from, *to)),
        Err(error) => {
            let why = match error {
                PlaceError::NoRoute { source, .. } => source.to_string(),
                other => other.to_string(),
            };
            Some(cannot(format!("to {}", to.ip()), State::NoRoute, why))
        }
    };
    let mut found: Vec<_> = remote.iter().filter_map(path_to).collect();
    let from = |path: &NamedPath| match path {
        NamedPath::Between(from, _) => Some(from.clone()),
        NamedPath::Cannot(_) => None,
    };
    let ours: Vec<LocalAddress> = found.iter().filter_map(from).collect();
    let tried: Vec<_> = remote.iter().map(|to| (to.ip(), to.ip())).collect();
    found.extend(paths::theirs_left_out(&ours, hosts, &tried).into_iter().map(no_path));
    Ok(at_most(found))
}

/// Those beyond what an association can have are not looked at.
fn at_most(found: Vec<NamedPath>) -> Vec<NamedPath> {
    let mut room = MAX_PATHS;
    let each = found.into_iter().map(|path| match path {
        NamedPath::Between(from, to) if room == 0 => {
            let why = format!("an association has {MAX_PATHS} paths at most");
            cannot(format!("{} -> {}", from.address, to.ip()), State::NoPath, why)
        }
        NamedPath::Between(from, to) => {
            room -= 1;
            NamedPath::Between(from, to)
        }
        cannot => cannot,
    });
    each.collect()
}

/// The addresses of the devices, and those of them that have none.
fn of_devices(
    devices: &[String],
    hosts: &str,
) -> Result<(Vec<LocalAddress>, Vec<NamedPath>), PlaceError> {
    let (mut ours, mut found) = (Vec::new(), Vec::new());
    if devices.iter().any(|name| name == AUTO) {
        return Ok((place::resolve_ends(&[], devices, hosts)?.local, found));
    }
    for name in devices {
        match place::resolve_ends(&[], core::slice::from_ref(name), hosts) {
            Ok(ends) => ours.extend(ends.local),
            Err(PlaceError::Device { device, why, own }) => {
                let is_ours = nix::net::if_::if_nametoindex(device.as_str()).is_ok();
                let state = if is_ours { State::NoPath } else { State::NotOurs };
                let why = format!("network device {device:?} {why}; this host has {own}");
                found.push(cannot(format!("{name} -> {hosts}"), state, why));
            }
            Err(other) => return Err(other),
        }
    }
    Ok((ours, found))
}

fn no_path((name, why): (String, &'static str)) -> NamedPath {
    cannot(name, State::NoPath, why.to_owned())
}

fn cannot(path: String, state: State, why: String) -> NamedPath {
    NamedPath::Cannot(Box::new(PathReport::new(path, state, Some(why))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(local: &[&str], hosts: &str) -> Vec<String> {
        let local: Vec<IpAddr> = local.iter().map(|l| l.parse().unwrap()).collect();
        let shown = |path: NamedPath| match path {
            NamedPath::Between(from, to) => format!("{} -> {to}", from.address),
            NamedPath::Cannot(report) => {
                format!("{}: {:?} {}", report.path, report.state, report.why.unwrap())
            }
        };
        named_paths(&local, &[], false, hosts).unwrap().into_iter().map(shown).collect()
    }

    #[test]
    fn paths_are_those_that_an_association_would_have() {
        assert_eq!(told(&[], "127.0.0.2"), ["127.0.0.1 -> 127.0.0.2:9899"]);
        let both = ["127.0.0.1 -> 127.0.0.2:9899", "127.0.0.1 -> 127.0.0.3:7"];
        assert_eq!(told(&[], "127.0.0.2,127.0.0.3:7"), both);
        let zipped = ["127.0.0.4 -> 127.0.0.2:9899", "127.0.0.5 -> 127.0.0.3:9899"];
        assert_eq!(told(&["127.0.0.4", "127.0.0.5"], "127.0.0.2,127.0.0.3"), zipped);
    }

    #[test]
    fn another_family_is_no_path() {
        let other = "::1 -> 192.0.2.1: NoPath the other end has no IPv6 address";
        assert_eq!(told(&["::1"], "192.0.2.1"), [other]);
        let found = told(&["127.0.0.1", "::1"], "127.0.0.2");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|line| line.starts_with("::1 -> 127.0.0.2: NoPath")), "{found:?}");
        let found = told(&[], "127.0.0.2,[::1]:7");
        assert!(found.contains(&"to ::1: NoPath no IPv6 address is used here".to_owned()));
    }

    #[test]
    fn paths_beyond_the_most_are_told_and_not_looked_at() {
        let local: Vec<IpAddr> = (1..=5).map(|n| IpAddr::from([127, 0, 0, n])).collect();
        let hosts = "127.0.1.1,127.0.1.2,127.0.1.3,127.0.1.4";
        let found = named_paths(&local, &[], true, hosts).unwrap();
        let between = |path: &&NamedPath| matches!(path, NamedPath::Between(..));
        assert_eq!((found.len(), found.iter().filter(between).count()), (20, MAX_PATHS));
    }

    #[test]
    fn a_device_that_is_not_there_is_told_beside_those_that_are() {
        let devices = ["lo".to_owned(), "nosuch0".to_owned()];
        let found = named_paths(&[], &devices, false, "127.0.0.2").unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        let NamedPath::Cannot(report) = &found[0] else { panic!("{found:?}") };
        assert_eq!((&*report.path, report.state), ("nosuch0 -> 127.0.0.2", State::NotOurs));
        assert!(matches!(&found[1], NamedPath::Between(from, _) if from.device.is_some()));
    }
}
