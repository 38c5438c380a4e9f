//! What is remembered of a HEARTBEAT until its answer comes (RFC 9260 sections 3.3.5 and 8.3).

use crate::ids::PathId;
use crate::time::Time;

/// A HEARTBEAT in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) nonce: u64,
    pub(crate) sent: Time,
}

/// Overdue HEARTBEATs of a failed path whose answers still count, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overdue(Vec<Outstanding>);

impl Overdue {
    /// Remembers one more. The oldest of too many is forgotten.
    pub(super) fn push(&mut self, lost: Outstanding) {
        if self.0.len() == OVERDUE {
            self.0.remove(0);
        }
        self.0.push(lost);
    }

    /// The one with this nonce.
    pub(super) fn find(&self, nonce: u64) -> Option<Outstanding> {
        self.0.iter().copied().find(|h| h.nonce == nonce)
    }
}

/// So many at most.
const OVERDUE: usize = 8;

/// What we write into the Heartbeat Info parameter: opaque to the peer, checked when it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeartbeatInfo {
    pub(crate) path: PathId,
    pub(crate) nonce: u64,
}

impl HeartbeatInfo {
    pub(crate) const LEN: usize = 12;

    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        let (path, nonce) = out.split_at_mut(4);
        path.copy_from_slice(&u32::from(self.path.0).to_be_bytes());
        nonce.copy_from_slice(&self.nonce.to_be_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (path, nonce) = bytes.split_first_chunk::<4>()?;
        let path = u8::try_from(u32::from_be_bytes(*path)).ok()?;
        let nonce = u64::from_be_bytes(nonce.try_into().ok()?);
        Some(Self { path: PathId(path), nonce })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_survives_the_wire_and_rejects_other_lengths() {
        let info = HeartbeatInfo { path: PathId(3), nonce: 0x0123_4567_89ab_cdef };
        let bytes = info.encode();
        assert_eq!(HeartbeatInfo::decode(&bytes), Some(info));
        assert_eq!(HeartbeatInfo::decode(&bytes[..11]), None);
        assert_eq!(HeartbeatInfo::decode(&[0xff; 12]), None);
    }
}
