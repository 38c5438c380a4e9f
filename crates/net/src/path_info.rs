//! What is told of a path.

use std::time::Duration;

use polypath_proto::stats::{PathMtuStats, PathStats};
use polypath_proto::view::PathAdmin;

use crate::contact::Contact;

/// A path with what the user said of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathInfo {
    /// Its addresses, counters, round-trip time, window and state.
    pub stats: PathStats,
    /// What it may be used for.
    pub admin: PathAdmin,
    /// It is the primary path.
    pub primary: bool,
    /// How large its packets may be.
    pub mtu: PathMtuStats,
    /// The network device that its packets take, if the address was given with one.
    pub device: Option<String>,
    /// What was heard of it.
    pub contact: Contact,
    /// The smallest round-trip time ever measured.
    pub min_rtt: Option<Duration>,
    /// DATA chunks sent on it that were declared lost, less those that turned out not to be.
    pub lost_chunks: u64,
    /// For how long the oldest data in flight on it waits for an acknowledgement; `None`: there is
    /// none.
    pub unacknowledged_for: Option<Duration>,
}

impl PathInfo {
    /// A path of which nothing is known but its counters.
    pub fn new(stats: PathStats) -> Self {
        Self {
            stats,
            admin: PathAdmin::default(),
            primary: false,
            mtu: PathMtuStats::default(),
            device: None,
            contact: Contact::default(),
            min_rtt: None,
            lost_chunks: 0,
            unacknowledged_for: None,
        }
    }
}
