//! The latest changes of the endpoint's own addresses. A peer that comes back with a cookie was told
//! the addresses of the time at which the cookie was made.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::config::EndpointConfig;
use crate::time::{Duration, Time};

/// Changes that are remembered, at most. No driver makes more within the life of a cookie.
const MAX_CHANGES: usize = 64;

/// An address came or went.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressChange {
    pub(super) when: Time,
    pub(super) at: SocketAddr,
    pub(super) added: bool,
}

/// Changes while cookies may live that know nothing of them, oldest first.
#[derive(Debug, Default)]
pub(super) struct AddressChanges(VecDeque<AddressChange>);

impl AddressChanges {
    /// Remembers `change` for as long as cookies live (`cookie_life`).
    pub(super) fn note(&mut self, change: AddressChange, cookie_life: Duration) {
        let stale = |c: &AddressChange| change.when.since(c.when) > cookie_life;
        while self.0.front().is_some_and(stale) || self.0.len() >= MAX_CHANGES {
            self.0.pop_front();
        }
        self.0.push_back(change);
    }

    /// Changes after `time`, oldest first.
    pub(super) fn after(&self, time: Time) -> impl Iterator<Item = &AddressChange> {
        self.0.iter().filter(move |change| change.when > time)
    }

    /// `config` with the addresses that it had at `time`.
    pub(super) fn undo(&self, config: &Arc<EndpointConfig>, time: Time) -> Arc<EndpointConfig> {
        let mut config = config.clone();
        for change in self.0.iter().rev().take_while(|change| change.when > time) {
            let addresses = &mut Arc::make_mut(&mut config).addresses;
            if change.added {
                addresses.retain(|own| *own != change.at.ip());
            } else {
                addresses.push(change.at.ip());
            }
        }
        config
    }
}
