//! Settings that every congestion control shares.

use crate::view::PathView;

/// Settings that every congestion control shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CcConfig {
    /// What "MTU" means in the window formulas.
    pub unit: CwndUnit,
    /// Initial congestion window of a path.
    pub initial_cwnd: InitialCwnd,
    /// Initial slow start threshold of a path.
    pub initial_ssthresh: InitialSsthresh,
    /// The smallest ssthresh after a loss, in MTUs. RFC 9260: 4; ns-2's module: 2.
    pub loss_floor_mtus: u32,
    /// L of appropriate byte counting: slow start growth per SACK, in MTUs, at most.
    pub abc_limit: u32,
    /// That limit holds for every two packets that a SACK acknowledges, not for the SACK: windows
    /// grow by a SACK that answers many packets as by the many that RFC 9260 would have had sent.
    pub abc_per_acked: bool,
    /// A window that was full once counts as in use for a round trip, as in common TCP stacks; RFC
    /// 9260 section 7.2.1 asks anew at each SACK. Packets that are paced (RFC 9002 section 7.8), or
    /// that take turns with those of other paths, do not fill it again by the next SACK.
    pub full_for_round_trip: bool,
    /// A window above two MTUs that idles for an RTO is halved, or set to four MTUs if that is
    /// more, and ssthresh does not remember it: [`Ns2Faults`](crate::config::Ns2Faults) alone sets it.
    pub idle_halves_alone: bool,
}

impl Default for CcConfig {
    fn default() -> Self {
        Self {
            unit: CwndUnit::Pmdcs,
            initial_cwnd: InitialCwnd::Rfc9260,
            initial_ssthresh: InitialSsthresh::PeerWindow,
            loss_floor_mtus: 4,
            abc_limit: 1,
            abc_per_acked: false,
            full_for_round_trip: false,
            idle_halves_alone: false,
        }
    }
}

impl CcConfig {
    /// Bytes that a window in slow start grows by at most for a SACK of `acked` bytes.
    pub fn most_growth(&self, mtu: u64, acked: u64) -> u64 {
        // SACKs come for every second packet (RFC 9260 section 6.2).
        let sacks = if self.abc_per_acked { (acked / (2 * mtu).max(1)).max(1) } else { 1 };
        u64::from(self.abc_limit) * mtu * sacks
    }

    /// The congestion window of a path that begins, by itself; bytes.
    pub fn initial_window(&self, path: &PathView) -> u64 {
        let mtu = self.mtu(path);
        match self.initial_cwnd {
            InitialCwnd::Rfc9260 => {
                let at_least = if path.ipv6 { 4344 } else { 4404 };
                (4 * mtu).min((2 * mtu).max(at_least))
            }
            InitialCwnd::Bytes(bytes) => bytes,
            InitialCwnd::Mtus(n) => u64::from(n) * mtu,
        }
    }

    /// The "MTU" of the window formulas on `path`, bytes.
    pub const fn mtu(&self, path: &PathView) -> u64 {
        match self.unit {
            CwndUnit::Pmdcs => path.pmdcs as u64,
            CwndUnit::PathMtu => path.mtu as u64,
        }
    }
}

/// What "MTU" means in the window formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CwndUnit {
    /// The largest DATA chunk that fits (RFC 9260).
    Pmdcs,
    /// The path MTU, as in the simulators of the papers.
    PathMtu,
}

/// Initial congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialCwnd {
    /// min(4 MTU, max(2 MTU, 4404 bytes)), over IPv6 4344 bytes (RFC 9260 section 7.2.1).
    Rfc9260,
    /// So many bytes.
    Bytes(u64),
    /// So many MTUs.
    Mtus(u32),
}

/// Initial slow start threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialSsthresh {
    /// The window that the peer announced at set-up; with `send_buffer_max` that bound, since
    /// windows may grow.
    PeerWindow,
    /// So many bytes.
    Bytes(u64),
}
