//! What has been done for the packet that is being read.

use crate::auth::Proof;
use crate::extension::asconf::Answering;
use crate::ids::FourTuple;

/// What a packet did so far: one packet triggers one answer of each kind at most (RFC 9260 section
/// 12.4).
#[derive(Debug)]
pub(super) struct PacketState<'a> {
    /// Where it arrived, and from where.
    pub(super) source: &'a FourTuple,
    pub(super) had_data: bool,
    /// Bytes of its DATA chunks, without headers.
    pub(super) payload: u64,
    /// A non-DATA answer (ERROR, HEARTBEAT ACK) was queued for it.
    pub(super) answered: bool,
    /// Requests of a RE-CONFIG were answered.
    pub(super) reconfigured: bool,
    pub(super) proof: Proof,
    /// It came in a DTLS chunk.
    pub(super) sealed: bool,
    /// It arrived at an address of ours that is being deleted.
    pub(super) leaving: bool,
    pub(super) answering: Answering,
}

impl<'a> PacketState<'a> {
    pub(super) fn new(source: &'a FourTuple, proof: Proof) -> Self {
        Self {
            source,
            had_data: false,
            payload: 0,
            answered: false,
            reconfigured: false,
            proof: if proof == Proof::Sealed { Proof::Given } else { proof },
            sealed: proof == Proof::Sealed,
            leaving: false,
            answering: Answering::default(),
        }
    }
}
