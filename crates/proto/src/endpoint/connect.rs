//! Opening an association.

use std::sync::Arc;

use super::Endpoint;
use super::connect_error::ConnectError;
use crate::association::{Association, State};
use crate::config::{AssocConfig, MAX_PATHS};
use crate::handshake::{is_unicast, permitted_config};
use crate::ids::{AssocHandle, FourTuple};
use crate::time::Time;

impl Endpoint {
    /// Opens an association over the paths `tuples` to the peer's SCTP port `peer_port`. INITs go
    /// out on one path after the other until one is answered, so a dead first path costs time only.
    ///
    /// # Errors
    /// When a path cannot be one, or there is such an association already; nothing has happened
    /// then.
    pub fn connect(
        &mut self,
        now: Time,
        tuples: &[FourTuple],
        peer_port: u16,
        config: Arc<AssocConfig>,
    ) -> Result<AssocHandle, ConnectError> {
        self.check_connect(tuples, peer_port)?;
        let (endpoint, rng) = (self.config.clone(), self.rng.fork());
        let config = permitted_config(config, &endpoint);
        // A bare INIT tells of no address: what came from another one would be a stranger's.
        let first = tuples.first().map(|tuple| tuple.local);
        let known = |tuple: &&FourTuple| !config.minimal_init || Some(tuple.local) == first;
        let tuples: &[_] = &tuples.iter().filter(known).copied().collect::<Vec<_>>();
        let assoc = Association::connect(now, config, endpoint, tuples, peer_port, rng);
        Ok(self.table.insert(assoc))
    }

    /// The INIT of `h` may have been answered just now. If who answered has an association with us
    /// already, `h` ends: its own INIT reached us first, from an address that it did not list (a
    /// NAT hides it), so nobody knew it for the same peer. To echo this cookie, too, would make the
    /// peer give up the association that it has for one with the same tag (RFC 9260 section 5.2.4
    /// B).
    pub(super) fn on_answer(&mut self, h: AssocHandle) {
        let Some(assoc) = self.table.get(h).filter(|a| a.state() == State::CookieEchoed) else {
            return;
        };
        let (port, tag, tsn) = (assoc.peer.port, assoc.peer.tag, assoc.peer.initial_tsn);
        let other = self.table.find_peer(port, tag, tsn).and_then(|other| self.table.get(other));
        let set_up = other.is_some_and(|assoc| !assoc.state().is_setup());
        if let Some(assoc) = self.table.touch(h).filter(|_| set_up) {
            assoc.yield_to_existing();
        }
        // The peer's COOKIE ECHO may be in the next packet.
        self.table.refresh(h);
    }

    fn check_connect(&self, tuples: &[FourTuple], peer_port: u16) -> Result<(), ConnectError> {
        if tuples.is_empty() || tuples.len() > MAX_PATHS {
            return Err(ConnectError::PathCount { count: tuples.len() });
        }
        if peer_port == 0 {
            return Err(ConnectError::PortZero);
        }
        let limit = self.config.max_associations;
        if self.table.len() >= limit {
            return Err(ConnectError::TooMany { limit });
        }
        tuples.iter().try_for_each(|tuple| self.check_path(*tuple, peer_port))
    }

    fn check_path(&self, tuple: FourTuple, peer_port: u16) -> Result<(), ConnectError> {
        let (local, remote) = (tuple.local.ip(), tuple.remote.ip());
        if !is_unicast(local) || !is_unicast(remote) || local.is_ipv4() != remote.is_ipv4() {
            return Err(ConnectError::BadPath { tuple });
        }
        if !self.is_ours(tuple) {
            return Err(ConnectError::ForeignAddress { tuple });
        }
        if self.table.find_address(tuple.remote, peer_port).is_some() {
            return Err(ConnectError::Exists { tuple });
        }
        Ok(())
    }
}
