//! All paths together: which of them carries data, which is probed and when, and what fits them.

mod carriers;
mod failures;
mod heartbeats;
mod sizes;
mod verification;

use super::{Path, PathSet};
use crate::config::{AssocConfig, Encapsulation};
use crate::ids::{FourTuple, PathId};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::view::PathView;

const SECOND: Duration = Duration::from_secs(1);
const NOW: Time = Time::from_secs(100);

/// A path from our address `local` to the peer's `remote`.
fn tuple(local: u8, remote: u8) -> FourTuple {
    FourTuple { local: ([10, 0, local, 1], 0).into(), remote: ([10, 0, remote, 2], 0).into() }
}

/// Paths between these addresses; `confirmed`: all were proven.
fn paths_between(addresses: &[(u8, u8)], confirmed: bool, config: &AssocConfig) -> PathSet {
    let mut paths = PathSet::new(Encapsulation::Raw);
    for &(local, remote) in addresses {
        paths.add(Time::ZERO, tuple(local, remote), confirmed, config).unwrap();
    }
    paths
}

/// So many proven paths, from and to addresses of their own.
fn proven(count: u8) -> PathSet {
    let addresses: Vec<_> = (0..count).map(|i| (i, i)).collect();
    paths_between(&addresses, true, &AssocConfig::default())
}

fn view(paths: &mut PathSet, p: u8) -> &mut PathView {
    paths.view_mut(PathId(p)).unwrap()
}

fn own(paths: &mut PathSet, p: u8) -> &mut Path {
    paths.get_mut(PathId(p)).unwrap()
}

/// When each path is to be probed.
fn probed_at(paths: &PathSet) -> Vec<Time> {
    paths.iter().map(|(_, path)| path.heartbeat_at).collect()
}

/// How long after `NOW` the next heartbeat of `p` is due.
fn wait(paths: &mut PathSet, p: u8, config: &AssocConfig) -> Duration {
    paths.schedule_heartbeat(NOW, PathId(p), config, &mut Rng::from_u64(1));
    own(paths, p).heartbeat_at - NOW
}
