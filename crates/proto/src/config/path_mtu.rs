//! Finding out how large packets may be (RFC 8899).

use crate::time::Duration;

/// Datagram packetization layer path MTU discovery (RFC 8899): each confirmed path is probed with
/// HEARTBEATs that a PAD chunk makes as large as the size in question. Sizes are those of IP
/// packets, IP and UDP headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuDiscovery {
    /// BASE_PLPMTU: the size that a path has until a larger one is proven, bytes. Over IPv6 at
    /// least 1280.
    pub base: u32,
    /// MAX_PLPMTU: no larger packet is tried, bytes. What the system refuses to send is not tried
    /// again either.
    pub max: u32,
    /// PROBE_TIMER: how long to wait for the answer to a probe, at least; the path's RTO if that is
    /// longer. RFC 8899 section 5.1.1 forbids less than one second, and advises 15 s where the
    /// round trip is not known.
    pub probe_timer: Duration,
    /// PMTU_RAISE_TIMER: how long after the end of a search the next larger size is tried again.
    pub raise_timer: Duration,
    /// MAX_PROBES: so many probes of one size are lost before the size counts as too large.
    pub max_probes: u32,
}

impl Default for PathMtuDiscovery {
    fn default() -> Self {
        Self {
            base: 1200,
            max: 65_535,
            probe_timer: Duration::from_secs(1),
            raise_timer: Duration::from_secs(600),
            max_probes: 3,
        }
    }
}

/// The smallest path MTU of IPv4 (RFC 791) and IPv6 (RFC 8200): MIN_PLPMTU.
pub(crate) const fn smallest_mtu(v4: bool) -> u32 {
    if v4 { 68 } else { 1280 }
}
