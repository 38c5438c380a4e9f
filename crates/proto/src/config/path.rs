//! Settings of single paths.

use super::association::AssocConfig;
use crate::time::Duration;

/// What holds for one path alone. It begins with what the association's configuration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathSettings {
    /// HB.interval; `None`: no heartbeats but those that verify the address.
    pub heartbeat_interval: Option<Duration>,
    /// Path.Max.Retrans.
    pub max_retrans: u32,
}

impl PathSettings {
    pub(crate) const fn of(config: &AssocConfig) -> Self {
        Self { heartbeat_interval: config.heartbeat_interval, max_retrans: config.path_max_retrans }
    }
}
