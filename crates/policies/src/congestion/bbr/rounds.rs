//! Packet-timed round trips ("BBR.round_count" of the draft).

/// A round begins with a transmission and ends with the first acknowledgement of something sent
/// after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// BBR.next_round_delivered: what was delivered before that transmission, bytes.
    next_delivered: u64,
    /// BBR.round_count.
    pub(super) count: u64,
    /// BBR.round_start: this acknowledgement began a round.
    pub(super) started: bool,
}

impl Rounds {
    /// `UpdateRound`: something is acknowledged that was sent when so much had been delivered.
    pub(super) const fn update(&mut self, prior_delivered: u64, delivered: u64) {
        self.started = prior_delivered >= self.next_delivered;
        if self.started {
            self.begin(delivered);
            self.count += 1;
        }
    }

    /// `StartRound`: what is sent from now on ends the round.
    pub(super) const fn begin(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}
