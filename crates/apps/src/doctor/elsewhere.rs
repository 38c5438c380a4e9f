//! Probes of ours that came to the server from another address than our association: it answers
//! none of them, but tells of them over the association.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The server tells of no more for one mirror; what else it says is not kept.
const MOST: usize = 8;

/// What the server told. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Elsewhere(Arc<Mutex<Vec<Sighting>>>);

/// A probe that it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    /// The socket of the mirror to which it came.
    pub(super) socket: u8,
    pub(super) nonce: [u8; 8],
    /// From where it came.
    pub(super) source: SocketAddr,
}

impl Elsewhere {
    pub(super) fn note(&self, sighting: Sighting) {
        let mut all = self.lock();
        if all.len() < MOST {
            all.push(sighting);
        }
    }

    /// From where a probe came to this socket of the mirror, one whose nonce `is_ours`.
    pub(super) fn source(
        &self,
        socket: u8,
        is_ours: impl Fn([u8; 8]) -> bool,
    ) -> Option<SocketAddr> {
        let all = self.lock();
        let seen = all.iter().find(|seen| seen.socket == socket && is_ours(seen.nonce));
        seen.map(|seen| seen.source)
    }

    /// An address other than this one from which probes came.
    pub(super) fn other_than(&self, address: IpAddr) -> Option<IpAddr> {
        let all = self.lock();
        all.iter().map(|seen| seen.source.ip().to_canonical()).find(|ip| *ip != address)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Sighting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_tells_without_end_fills_nothing() {
        let elsewhere = Elsewhere::default();
        for port in 1..1000 {
            let source = SocketAddr::from(([192, 0, 2, 1], port));
            elsewhere.note(Sighting { socket: 1, nonce: [7; 8], source });
        }
        assert_eq!(elsewhere.lock().len(), MOST);
        let first = Some(SocketAddr::from(([192, 0, 2, 1], 1)));
        assert_eq!(elsewhere.source(1, |nonce| nonce == [7; 8]), first);
        assert_eq!(elsewhere.source(1, |nonce| nonce == [8; 8]), None);
        assert_eq!(elsewhere.source(0, |_| true), None);
        assert_eq!(elsewhere.other_than([192, 0, 2, 1].into()), None);
        assert_eq!(elsewhere.other_than([192, 0, 2, 2].into()), Some([192, 0, 2, 1].into()));
    }
}
