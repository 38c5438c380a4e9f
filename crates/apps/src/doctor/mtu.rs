//! How large packets may be on a path: what discovery (RFC 8899) found, against what the device
//! sends.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use polypath_net::{Association, LocalAddress, MtuState, PathMtuDiscovery, PathMtuStats};
use tokio::time::Instant;

use super::report::Mtu;
use crate::mirror::ear::Ear;
use crate::place;

/// How long the search may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked.
const TICK: Duration = Duration::from_millis(50);

/// A search that ends sooner than one beside data may: two lost probes are enough.
pub(super) fn discovery() -> PathMtuDiscovery {
    PathMtuDiscovery { max_probes: 2, ..PathMtuDiscovery::default() }
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
        if over || association.is_closed() || Instant::now() >= deadline {
            let PathMtuStats { mtu, state, .. } = last.filter(|last| last.probes_acked > 0)?;
            return Some(Mtu { passes: mtu, device, complete: state == MtuState::Complete });
        }
        tokio::time::sleep(TICK).await;
    }
}

fn look(association: &Association, local: IpAddr) -> Option<PathMtuStats> {
    let paths = association.paths();
    let path = paths.iter().find(|path| path.stats.local.ip() == local)?;
    association.path_mtu(path.stats.path)
}

/// What the network device of `local` sends at most, bytes; `None`: nobody tells.
pub(super) fn device_mtu(local: &LocalAddress, to: SocketAddr) -> Option<u32> {
    let device = local.device.clone().or_else(|| place::device_of(local.address));
    let file = device.map(|device| format!("/sys/class/net/{device}/mtu"));
    let told = file.and_then(|file| std::fs::read_to_string(file).ok());
    // In some containers the files are of other devices, or are not there.
    told.and_then(|text| text.trim().parse().ok()).or_else(|| Ear::route_mtu(local, to))
}
