//! The result of a conversation.

use serde::Serialize;

/// What happened, as the C peer prints it, too.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// `client` or `server`.
    pub role: &'static str,
    /// All that was expected came, and nothing was wrong with it.
    pub verified: bool,
    /// How the association ended: `shutdown`, `abort`, `own abort`, `lost`, `vanished`, ...
    pub closed: &'static str,
    /// Messages handed to the stack.
    pub sent: u64,
    /// Messages that came and were checked.
    pub received: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// What was wrong with messages: how often, and the first time.
    pub faults: u64,
    /// In words.
    pub first_fault: String,
    /// Restarts of the peer.
    pub restarts: u32,
    /// Inbound streams after negotiation.
    pub streams_in: u16,
    /// Outbound streams after negotiation.
    pub streams_out: u16,
    /// Addresses of the peer.
    pub peer_addresses: Vec<String>,
    /// Paths that became active.
    pub confirmed: u32,
    /// Paths that became inactive.
    pub unreachable: u32,
    /// From the start to the end.
    pub seconds: f64,
    /// Times that the peer reset streams.
    pub resets_in: u32,
    /// Times that we did.
    pub resets_out: u32,
    /// Requests for other streams that the peer refused.
    pub refused: u32,
    /// Times that streams were added.
    pub streams_added: u32,
    /// Messages that were given up.
    pub abandoned: u32,
    /// DATA chunks sent more than once.
    pub retransmitted: u64,
    /// Those after miss indications.
    pub fast_retransmitted: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// DATA chunks received more than once.
    pub duplicates: u64,
    /// Packets dropped for their checksum.
    pub bad_checksums: u64,
    /// Packets dropped for their verification tag.
    pub bad_tags: u64,
    /// Packets that belonged to no association.
    pub out_of_the_blue: u64,
}

impl Report {
    /// One line.
    pub fn json(&self) -> String {
        // Numbers and strings alone: nothing in it can fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}
