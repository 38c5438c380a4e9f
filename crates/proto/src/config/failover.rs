//! Paths that have failed, potentially or not.

use crate::time::Duration;

/// Potentially failed paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfConfig {
    /// PFMR: a path is potentially failed once its error counter exceeds this. 0: at the first
    /// timeout.
    pub max_retrans: u32,
    /// cwnd in MTUs when a HEARTBEAT ACK brings the path back (CMT-PF2: 2).
    pub return_mtus: u32,
    /// Probe a failed path, inactive ones included, whenever it has been down for a tenth longer
    /// than at the last probe, but at least this often and not more often than once per RTO: so its
    /// return is noticed within a tenth of what it was away, and a path that stays away costs
    /// little. `None`: with exponential back-off, and every HB.interval once it is inactive (RFC
    /// 7829 section 3, RFC 9260 section 8.3).
    pub probe: Option<Duration>,
    /// Data sent more than once, but on one path alone, proves by its acknowledgement that the path
    /// works (RFC 7829 section 3.2, item 10). Off: only data sent once does, as in CMT-PF.
    pub single_path_ack_proves_path: bool,
}

impl Default for PfConfig {
    fn default() -> Self {
        Self { max_retrans: 0, return_mtus: 2, probe: None, single_path_ack_proves_path: false }
    }
}
