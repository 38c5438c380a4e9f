//! What is believed that came in plain: while the association is set up as little as it takes, then
//! nothing.

use polypath_wire::chunk::kind;
use polypath_wire::{PacketView, RawChunk};

use crate::association::Association;
use crate::extension::protection::ProtectionState;
use crate::ids::PathId;
use crate::protection::{KEY_MANAGEMENT_PPID, MAX_KEY_MESSAGE};
use crate::receiver::Incoming;
use crate::time::Time;

impl Association {
    /// Whether nothing is believed that comes in plain.
    pub(crate) fn demands_protection(&self) -> bool {
        let enforced =
            |state: &ProtectionState| state.keys.as_ref().is_some_and(|keys| keys.is_enforced());
        !self.state.is_setup() && self.protection.as_deref().is_some_and(enforced)
    }

    /// Whether a packet in plain is looked at. One that is not may be a hint at most.
    pub(in crate::association) fn admits_plain_packet(
        &mut self,
        now: Time,
        packet: &PacketView<'_>,
    ) -> bool {
        if !self.demands_protection() {
            return true;
        }
        if let Some(state) = &mut self.protection {
            state.dropped_unprotected += 1;
        }
        let first = packet.chunks().next().and_then(Result::ok).map(|raw| raw.kind);
        if matches!(first, Some(kind::ABORT | kind::SHUTDOWN_COMPLETE)) {
            self.on_hint(now);
        }
        false
    }

    /// Whether a chunk is looked at before there are keys at both ends: key management's data and
    /// what carries it, set-up, and its failure. Of a peer that has its keys already (`sealed`) all
    /// data; to what else it says we could only answer in plain, and it says it again.
    pub(in crate::association) fn admits_before_keys(
        &self,
        raw: &RawChunk<'_>,
        sealed: bool,
    ) -> bool {
        match raw.kind {
            kind::DATA | kind::I_DATA if sealed => true,
            kind::DATA | kind::I_DATA => self.admits_plain_data(raw),
            // What went with the COOKIE ECHO counts as sent only when that is acknowledged.
            kind::SACK | kind::NR_SACK => !self.state.is_setup(),
            kind::INIT
            | kind::INIT_ACK
            | kind::COOKIE_ECHO
            | kind::COOKIE_ACK
            | kind::HEARTBEAT
            | kind::HEARTBEAT_ACK
            | kind::ABORT
            | kind::ERROR => true,
            _ => false,
        }
    }

    /// Key management's data alone, and in order: what somebody slipped in beyond it would take the
    /// place, with its TSN, of data that comes protected later. In order, it goes into the key
    /// exchange, which fails if a byte of it is wrong. And no more than a message of key management
    /// has: who sent it may be anyone who has returned a cookie.
    fn admits_plain_data(&self, raw: &RawChunk<'_>) -> bool {
        let Some(data) = Incoming::of(raw, PathId(0)) else { return false };
        let held = self.rx.held() as usize + data.payload().len();
        self.rx.is_next_or_old(data.tsn())
            && data.is_ordered_on(0, KEY_MANAGEMENT_PPID)
            && held <= MAX_KEY_MESSAGE
    }
}
