//! The peer's receive window (RFC 9260 section 6.2.1), and the probes of a shut one (section 6.1
//! A).

use crate::time::Duration;

/// rwnd bookkeeping. Counts payload bytes, plus a configured charge per chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerWindow {
    /// a_rwnd of INIT or INIT ACK: the receive buffer's size (Trbuf of S4).
    max: u64,
    /// a_rwnd of the newest SACK.
    advertised: u64,
    /// Charged bytes in flight.
    in_flight: u64,
    charge: u64,
    /// A zero-window probe may go out now.
    probe_allowed: bool,
    /// Probes sent since the window was last open: back-off of the probe timer.
    probes: u32,
    /// A SACK came since DATA last went out.
    sack_since_data: bool,
}

impl PeerWindow {
    pub(crate) const fn new(charge: u32) -> Self {
        let charge = charge as u64;
        Self {
            max: 0,
            advertised: 0,
            in_flight: 0,
            charge,
            probe_allowed: false,
            probes: 0,
            sack_since_data: false,
        }
    }

    pub(crate) const fn set_initial(&mut self, a_rwnd: u32) {
        self.max = a_rwnd as u64;
        self.advertised = a_rwnd as u64;
    }

    /// rwnd = max(0, a_rwnd - what is in flight): recomputed, never tracked, so that errors cannot
    /// add up.
    #[inline]
    pub(crate) const fn rwnd(&self) -> u64 {
        self.advertised.saturating_sub(self.in_flight)
    }

    pub(crate) const fn max(&self) -> u64 {
        self.max
    }

    #[inline]
    pub(crate) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// What a chunk of `bytes` payload takes of the window.
    #[inline]
    pub(super) const fn cost(&self, bytes: u32) -> u64 {
        bytes as u64 + self.charge
    }

    #[inline]
    pub(super) const fn add_sent(&mut self, bytes: u32) {
        self.in_flight += self.cost(bytes);
        self.sack_since_data = false;
    }

    /// A chunk left the flight: acknowledged, or marked for retransmission.
    #[inline]
    pub(super) const fn remove_from_flight(&mut self, bytes: u32) {
        self.in_flight = self.in_flight.saturating_sub(self.cost(bytes));
    }

    pub(crate) const fn advertise(&mut self, a_rwnd: u32) {
        self.advertised = a_rwnd as u64;
        // A peer's buffer may grow.
        if self.max < self.advertised {
            self.max = self.advertised;
        }
        self.sack_since_data = true;
    }

    /// Whether the window takes a chunk of `bytes` payload and `kept` bytes more; resets the
    /// back-off of zero-window probes if so.
    pub(crate) const fn admit(&mut self, bytes: u32, kept: u64) -> bool {
        let admits = self.cost(bytes) + kept <= self.rwnd() || self.is_all_open();
        if admits {
            self.probes = 0;
            self.probe_allowed = false;
        }
        admits
    }

    /// A zero-window probe may go out.
    pub(crate) const fn allow_probe(&mut self) {
        self.probe_allowed = true;
    }

    /// Whether [`allow_probe`](Self::allow_probe) was called and no probe went out since.
    pub(crate) const fn is_probe_allowed(&self) -> bool {
        self.probe_allowed
    }

    /// Takes the permission for a zero-window probe.
    pub(crate) fn take_probe(&mut self) -> bool {
        let allowed = core::mem::take(&mut self.probe_allowed);
        self.probes += u32::from(allowed);
        allowed
    }

    /// How long to wait before the next zero-window probe: one RTO, doubled with every probe.
    pub(crate) fn probe_delay(&self, rto: Duration, max: Duration) -> Duration {
        rto.saturating_mul(1 << self.probes.min(16)).min(max)
    }

    /// It will not be larger: a chunk that it does not hold goes all the same, one at a time (RFC
    /// 9260 section 6.1 A).
    const fn is_all_open(&self) -> bool {
        self.max > 0 && self.in_flight == 0 && self.advertised == self.max
    }

    /// The peer keeps its window shut and says so: a timeout is no sign of a broken path (RFC 9260
    /// section 6.1 A).
    pub(crate) const fn is_shut_by_living_peer(&self) -> bool {
        self.sack_since_data && self.advertised == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(60);

    #[test]
    fn probes_of_a_shut_window_go_out_one_by_one_and_ever_more_rarely() {
        let mut window = PeerWindow::new(0);
        window.set_initial(10_000);
        window.advertise(0);
        assert!(!window.admit(1, 0) && !window.take_probe());
        for delay in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(window.probe_delay(RTO, MOST), Duration::from_secs(delay));
            window.allow_probe();
            assert!(window.is_probe_allowed() && window.take_probe());
            assert!(!window.is_probe_allowed() && !window.take_probe(), "one alone");
        }
        // It opens: the next time begins anew.
        window.advertise(10_000);
        assert!(window.admit(1000, 0));
        assert_eq!(window.probe_delay(RTO, MOST), RTO);
    }

    #[test]
    fn what_is_kept_for_others_is_not_for_a_chunk() {
        let mut window = PeerWindow::new(24);
        window.set_initial(10_000);
        window.add_sent(76);
        window.advertise(1124);
        assert!(window.admit(1000, 0) && !window.admit(1001, 0), "less what is in flight");
        assert!(window.admit(900, 100) && !window.admit(900, 101));
    }

    #[test]
    fn a_peer_that_says_that_its_window_is_shut_lives() {
        let mut window = PeerWindow::new(0);
        window.set_initial(10_000);
        window.advertise(1);
        assert!(!window.is_shut_by_living_peer());
        window.advertise(0);
        assert!(window.is_shut_by_living_peer());
        window.add_sent(1);
        assert!(!window.is_shut_by_living_peer(), "it has not said so since");
    }

    #[test]
    fn a_chunk_larger_than_the_whole_buffer_goes_alone_once_that_is_known() {
        let mut window = PeerWindow::new(0);
        assert!(!window.admit(1, 0), "nothing is known");
        window.set_initial(1000);
        window.advertise(999);
        assert!(!window.admit(2000, 0), "it may open further");
        window.advertise(5000);
        assert_eq!(window.max(), 5000, "a buffer may grow");
        assert!(window.admit(9000, 0));
        window.add_sent(1);
        assert!(!window.admit(9000, 0), "one at a time");
    }
}
