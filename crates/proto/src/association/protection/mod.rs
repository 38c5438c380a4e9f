//! Associations whose packets nobody else can read or write: the DTLS chunk
//! (draft-ietf-tsvwg-sctp-dtls-chunk). [`agreement`] begins once both ends have said in INIT and
//! INIT ACK what they can do, [`messages`] carries key management's messages, [`packets`] makes one
//! chunk of all chunks of a packet and takes it apart, [`plain`] says what is believed that came
//! without, [`hint`] what becomes of it otherwise, and [`failure`] how an association ends that has
//! no keys any more. Keys and ciphers are behind [`Protection`](crate::protection::Protection).

mod agreement;
mod failure;
mod hint;
mod messages;
mod packets;
mod plain;

use super::{Association, State};
use crate::event::Event;
use crate::ids::StreamId;
use crate::protection::{KEY_MANAGEMENT_PPID, ProtectionStats};
use crate::sender::SendError;
use crate::time::Time;

impl Association {
    /// Whether packets are protected, both ways.
    pub fn is_protected(&self) -> bool {
        self.protection.as_ref().is_some_and(|state| state.established)
    }

    /// Whether they will be, and keys are not agreed on yet: the application knows nothing of the
    /// association.
    #[inline]
    pub(crate) fn is_exchanging_keys(&self) -> bool {
        self.protection.as_ref().is_some_and(|state| !state.established)
    }

    /// Whether the association is being set up, keys included.
    pub(in crate::association) fn is_setting_up(&self) -> bool {
        self.state.is_setup() || self.is_exchanging_keys() && self.state != State::Closed
    }

    /// Whether the application hears of an association without keys: that it is over.
    pub(super) fn tells_before_keys(&mut self) -> bool {
        if self.state != State::Closed {
            return false;
        }
        self.events.retain(|event| {
            matches!(event, Event::SendFailed { .. } | Event::Abandoned { .. } | Event::Closed(_))
        });
        true
    }

    /// Refuses messages of the application that would be taken for key management's.
    pub(super) fn check_ppid(&self, stream: StreamId, ppid: u32) -> Result<(), SendError> {
        let is_reserved = stream.0 == 0 && ppid == KEY_MANAGEMENT_PPID;
        if is_reserved && self.protection.is_some() {
            return Err(SendError::ReservedPpid { ppid });
        }
        Ok(())
    }

    /// Who the peer has proved to be: its public key as SubjectPublicKeyInfo (DER). `None` where
    /// nothing is protected, and where keys were shared before.
    pub fn peer_identity(&self) -> Option<&[u8]> {
        self.protection.as_ref()?.keys.as_ref()?.peer()
    }

    /// Counters of the protection, and packets that were dropped because they came in plain; `None`
    /// where nothing is protected.
    pub fn protection_stats(&self) -> Option<(ProtectionStats, u64)> {
        let state = self.protection.as_ref()?;
        let keys = state.keys.as_ref().map(|keys| keys.stats()).unwrap_or_default();
        Some((keys, state.dropped_unprotected))
    }

    /// The packet that was sealed last, as it was before, if that is kept.
    pub(crate) fn plain_sent(&self) -> Option<&[u8]> {
        self.protection.as_ref().map(|state| &state.plain[..]).filter(|plain| !plain.is_empty())
    }

    /// Time has passed.
    pub(super) fn on_protection_timer(&mut self, now: Time) {
        let rto = self.longest_rto();
        let Some(state) = self.protection.as_mut() else { return };
        if let Some(keys) = state.keys.as_mut().filter(|keys| keys.next_timeout() <= now) {
            keys.handle_timeout(now, rto);
        }
        self.drive_keys(now);
        self.on_probe_timer(now);
    }
}
