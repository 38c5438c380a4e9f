//! Settings that the experiments of papers and tests alone need.

use super::burst::BurstRule;
use super::ns2::Ns2Faults;
use crate::ids::{Mid, Tsn};

/// What the experiments of papers and tests alone need. A deployment leaves it as its profile has
/// it, and without a profile at its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReproductionConfig {
    /// Charge per DATA chunk against the receive window, at both ends, beside its payload. RFC
    /// 9260: 0; ns-2 counts the 16 bytes of the header; FreeBSD 256.
    pub chunk_charge: u32,
    /// When [Max.Burst](super::AssocConfig::max_burst) applies. The profile `fast` has
    /// [`BurstRule::PerAcked`].
    pub max_burst_rule: BurstRule,
    /// After a T3-rtx expiry one packet alone is in flight on the path until something of it is
    /// acknowledged (RFC 9260 section 7.2.1). Off: beside the packet that the window of one packet
    /// takes, one of retransmissions may ignore it, as in what the named profiles were measured
    /// with.
    pub limit_to_one_packet_after_t3: bool,
    /// Miss indications for a fast retransmit (RFC 9260: 3; RFC 2960: 4).
    pub fast_retransmit_after: u32,
    /// Our first TSN. `None`: random, as RFC 9260 section 3.3.2 wants it; a given one is for tests
    /// of the wrap.
    pub initial_tsn: Option<Tsn>,
    /// The first MID of every stream in either direction. RFC 8260 section 2.1: 0; another one, at
    /// both ends, is for tests of the wrap.
    pub first_mid: Mid,
    /// What ns-2.35 does otherwise: the profile `ns2` alone has it.
    pub ns2: Ns2Faults,
}

impl Default for ReproductionConfig {
    fn default() -> Self {
        Self {
            chunk_charge: 0,
            max_burst_rule: BurstRule::Always,
            limit_to_one_packet_after_t3: true,
            fast_retransmit_after: 3,
            initial_tsn: None,
            first_mid: Mid(0),
            ns2: Ns2Faults::default(),
        }
    }
}
