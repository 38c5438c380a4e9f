//! Who the peer is, and what protects the association.

use polypath_proto::protection::ProtectionStats;
use polypath_secure::PublicKey;

use crate::association::Association;

impl Association {
    /// The key that the peer has proved to have. `None` where nothing is protected, or keys were
    /// shared before, and once the association is over and forgotten.
    pub fn peer_identity(&self) -> Option<PublicKey> {
        let state = self.shared().lock();
        let association = state.core.association(self.handle())?;
        association.peer_identity().map(PublicKey::from_spki)
    }

    /// Whether packets are protected, both ways. Where the settings ask for it they are from the
    /// first moment that the application knows of the association.
    pub fn is_protected(&self) -> bool {
        let state = self.shared().lock();
        let association = state.core.association(self.handle());
        association.is_some_and(polypath_proto::Association::is_protected)
    }

    /// Counters of the protection, and how many packets were dropped because they came in plain;
    /// `None` where nothing is protected.
    pub fn protection_stats(&self) -> Option<(ProtectionStats, u64)> {
        let state = self.shared().lock();
        state.core.association(self.handle())?.protection_stats()
    }
}
