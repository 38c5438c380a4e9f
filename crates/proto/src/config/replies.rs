//! How often strangers are answered.

/// Answers to packets that belong to no association, at most; packets beyond are dropped without
/// one. One second's worth may leave at once.
///
/// Anybody can send with a forged source, so every answer is a packet that somebody may not have
/// asked for, and takes processor time. Kinds are counted apart, so that floods of one leave the
/// others alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// INIT ACKs per second: how much processor time set-ups may take, some microseconds each.
    pub init_acks: u32,
    /// Refusals of INITs and COOKIE ECHOs (ABORT, ERROR) per second.
    pub errors: u32,
    /// ABORTs and SHUTDOWN COMPLETEs per second that answer packets out of the blue (RFC 9260
    /// section 8.4).
    pub out_of_the_blue: u32,
    /// Answers of all kinds per second to one network: addresses with the first 24 bits (IPv4) or
    /// 48 bits (IPv6) in common. No longer prefixes are routed between networks, so that this is
    /// what a victim shares its line with. The last quarter is left to INIT ACKs.
    pub per_network: u32,
    /// Key exchanges per second that are begun with those who returned a cookie, where packets are
    /// protected: some tenths of a millisecond of processor time each, and some kilobytes for as
    /// long as they take.
    pub key_exchanges: u32,
    /// The same, with one network.
    pub key_exchanges_per_network: u32,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self {
            init_acks: 100_000,
            errors: 10_000,
            out_of_the_blue: 10_000,
            per_network: 5_000,
            key_exchanges: 1_000,
            key_exchanges_per_network: 200,
        }
    }
}
