//! Limits of bursts.

/// When Max.Burst applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BurstRule {
    /// In every send attempt (RFC 9260 section 6.1 D).
    Always,
    /// Only when the SACK acknowledged a chunk that had been fast-retransmitted (ns-2's module, S1
    /// and S2).
    AfterFastRetransmit,
    /// Once for every two packets' worth of bytes of the path that were acknowledged since the last
    /// attempt, at least once: a SACK that answers a whole batch, or SACKs that arrive in one,
    /// allow as much as if they had come one by one. Packets count with the bytes that they carry:
    /// half full ones could else never be more than were acknowledged.
    PerAcked,
}
