//! How large packets may be on a path: what discovery (RFC 8899) found, against what the device
//! sends.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use polypath_net::{
    AssocConfig, Association, LocalAddress, MtuState, PathMtuDiscovery, PathMtuStats,
};
use tokio::time::Instant;

use super::report::Mtu;
use super::route::route_mtu;
use crate::place;

/// How long the search may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Nothing larger is searched for, bytes: jumbo frames have that. Loopback devices, and few others,
/// send more.
pub(super) const WIDEST: u32 = 9216;
/// Of the first device of every host.
const LOOPBACK: u32 = 1;
/// How often is looked.
const TICK: Duration = Duration::from_millis(50);

/// A search that ends sooner than one beside data may: two lost probes are enough.
pub(super) fn discovery() -> PathMtuDiscovery {
    PathMtuDiscovery { max_probes: 2, ..PathMtuDiscovery::default() }
}

/// A stack that tries no more than what the device sends.
pub(super) fn bounded(assoc: &AssocConfig, device: Option<u32>) -> AssocConfig {
    let max = device.unwrap_or(WIDEST).min(WIDEST);
    let discovery = assoc.path_mtu_discovery.map(|discovery| PathMtuDiscovery { max, ..discovery });
    AssocConfig { path_mtu_discovery: discovery, ..assoc.clone() }
}

/// Waits for the end of the search on the path from `local` to `to`; `device`: what its device
/// sends.
pub(super) async fn watch(
    association: &Association,
    local: IpAddr,
    device: Option<u32>,
) -> Option<Mtu> {
    let deadline = Instant::now() + PATIENCE;
    let mut last = None;
    loop {
        let found = look(association, local);
        last = found.or(last);
        let over = found.is_some_and(|f| matches!(f.state, MtuState::Complete | MtuState::Error));
        if over || Instant::now() >= deadline {
            return last.map(|last| judge(last, device));
        }
        // What was not tried yet may pass.
        if association.is_closed() {
            return None;
        }
        tokio::time::sleep(TICK).await;
    }
}

/// Until a probe was answered, the size is only what hosts take in any case.
const fn judge(found: PathMtuStats, device: Option<u32>) -> Mtu {
    let passes = match found.state {
        MtuState::Searching | MtuState::Complete => Some(found.mtu),
        _ => None,
    };
    Mtu { passes, device, complete: matches!(found.state, MtuState::Complete) }
}

fn look(association: &Association, local: IpAddr) -> Option<PathMtuStats> {
    let paths = association.paths();
    let path = paths.iter().find(|path| path.stats.local.ip() == local)?;
    association.path_mtu(path.stats.path)
}

/// What the network device of `local` sends at most, bytes; `None`: nobody tells.
pub(super) fn device_mtu(local: &LocalAddress, to: SocketAddr) -> Option<u32> {
    let device = local.device.clone().or_else(|| place::device_of(local.address));
    // What a router said is known of the way, and not of the device.
    device.and_then(|device| told_mtu(&device)).or_else(|| route_mtu(local, to))
}

/// What the system says of a device. In some containers, the files are of another host's devices,
/// or are not there.
fn told_mtu(device: &str) -> Option<u32> {
    let read = |what: &str| {
        let text = std::fs::read_to_string(format!("/sys/class/net/{device}/{what}"));
        text.ok()?.trim().parse::<u32>().ok()
    };
    let own = nix::net::if_::if_nametoindex(device).ok()?;
    // The loopback devices of all hosts have one number.
    (own != LOOPBACK && read("ifindex") == Some(own)).then(|| read("mtu")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_probe_has_shown_is_not_known_to_pass() {
        for (state, passes, complete) in [
            (MtuState::Disabled, None, false),
            (MtuState::Base, None, false),
            (MtuState::Searching, Some(1400), false),
            (MtuState::Complete, Some(1400), true),
            (MtuState::Error, None, false),
        ] {
            let mut found = PathMtuStats::default();
            (found.mtu, found.state) = (1400, state);
            assert_eq!(judge(found, None), Mtu { passes, device: None, complete }, "{state:?}");
        }
    }
}
