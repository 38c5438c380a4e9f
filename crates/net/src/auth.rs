//! Shared keys of authenticated chunks while the association lives (RFC 4895, RFC 6458 section
//! 8.3).

use crate::Association;
use crate::error::{AuthKeyError, AuthKeyRefusal};

impl Association {
    /// Adds a shared key, or replaces the one with that id. Nothing is sent with it before it is
    /// [activated](Self::activate_auth_key), which should wait until the peer has it, too.
    ///
    /// # Errors
    /// When authentication is switched off, or the association is over.
    pub fn set_auth_key(&self, id: u16, secret: &[u8]) -> Result<(), AuthKeyError> {
        self.change_keys(|core| core.set_auth_key(id, secret))
    }

    /// Authenticates what is sent from now on, retransmissions included, with this key.
    ///
    /// # Errors
    /// When there is no such key, it was deactivated, or the association is over.
    pub fn activate_auth_key(&self, id: u16) -> Result<(), AuthKeyError> {
        self.change_keys(|core| core.activate_auth_key(id))
    }

    /// Sends nothing with this key any more; what the peer still sends with it is good.
    ///
    /// # Errors
    /// When there is no such key, it is the active one, or the association is over.
    pub fn deactivate_auth_key(&self, id: u16) -> Result<(), AuthKeyError> {
        self.change_keys(|core| core.deactivate_auth_key(id))
    }

    /// Forgets a key: what the peer still sends with it is dropped.
    ///
    /// # Errors
    /// When there is no such key, it is the active one, or the association is over.
    pub fn delete_auth_key(&self, id: u16) -> Result<(), AuthKeyError> {
        self.change_keys(|core| core.delete_auth_key(id))
    }

    fn change_keys(
        &self,
        act: impl FnOnce(&mut polypath_proto::Association) -> Result<(), AuthKeyRefusal>,
    ) -> Result<(), AuthKeyError> {
        let done = self.with_core(act).ok_or_else(|| self.why_closed())?;
        Ok(done?)
    }
}
