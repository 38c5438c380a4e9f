//! What the SCTP and CMT modules of ns-2.35 do otherwise than RFC 9260 and the CMT papers, each
//! with its switch. `data/ns2/README.md` says where in their source.

/// Peculiarities and faults of ns-2.35's modules (`sctp/sctp.cc`, and for CMT `sctp/sctp-cmt.cc`).
/// Where the two differ, an association without CUC does as the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ns2Faults {
    /// Max.Burst applies from the first SACK whose cum-ack passes a retransmitted chunk, for good
    /// with CMT, else until it bounded a burst; retransmissions count as well.
    pub burst_limit_stays: bool,
    /// Chunks that wait to be retransmitted still count as outstanding, against the window of their
    /// path as against the peer's, before new data. Without CMT there is no new data while any
    /// waits.
    pub marked_stay_outstanding: bool,
    /// T3-rtx has lost chunks sent again, but sends no new data: only a SACK does.
    pub timeouts_send_no_new_data: bool,
    /// With CMT, what was retransmitted for whatever reason is never fast-retransmitted: if it is
    /// lost again, T3-rtx alone finds out.
    pub resent_wait_for_t3: bool,
    /// SFR and DAC look at gap acks alone: a path of which a SACK acknowledges something by its
    /// cum-ack has told nothing, and does not make the SACK a mixed one. But chunks that were moved
    /// to a path speak for it. Without CMT the highest TSN newly acknowledged stays in force for
    /// SACKs that acknowledge nothing.
    pub misses_by_gap_acks: bool,
    /// CUC's expected pseudo-cum-acks stay what they are until a SACK with gap ack blocks has them
    /// looked for: one that is sent again on its own path holds back the growth of the window.
    pub stale_pseudo_cum_acks: bool,
    /// With CMT, windows grow in fast recovery.
    pub grows_in_recovery: bool,
    /// The window of a path is cut whenever a chunk is marked for fast retransmit, on whatever
    /// path, and one that waits on it lies beyond the highest TSN sent there at the last cut.
    pub cuts_by_tsn: bool,
    /// The packet that may ignore cwnd after a loss goes to the path of the latest fast retransmit,
    /// or nowhere. Without CMT it is the only one until the next SACK.
    pub allowance_of_target: bool,
    /// T3-rtx starts anew for the lowest TSN of a path rather than for the chunk sent first, and
    /// when the cum-ack passes anything of the path that was gap-acked before; with the RTO that
    /// the SACK at hand gave.
    pub t3_by_tsn: bool,
    /// An RTO after the last transmission, and after every further RTO, a window above two MTUs is
    /// halved, or set to four MTUs if that is more; ssthresh does not remember it.
    pub idle_halves_alone: bool,
    /// A SACK that others overtook is believed as long as its cum-ack is not older.
    pub believes_overtaken_sacks: bool,
}

impl Ns2Faults {
    /// Whether something is kept of each path.
    pub(crate) const fn counts_on_paths(&self) -> bool {
        self.burst_limit_stays || self.idle_halves_alone || self.t3_by_tsn
    }

    /// All of them.
    pub const ALL: Self = Self {
        burst_limit_stays: true,
        marked_stay_outstanding: true,
        timeouts_send_no_new_data: true,
        resent_wait_for_t3: true,
        misses_by_gap_acks: true,
        stale_pseudo_cum_acks: true,
        grows_in_recovery: true,
        cuts_by_tsn: true,
        allowance_of_target: true,
        t3_by_tsn: true,
        idle_halves_alone: true,
        believes_overtaken_sacks: true,
    };

    /// Whether the TSNs that ns-2 watches on each path matter.
    pub(crate) const fn watches_tsns(&self) -> bool {
        self.t3_by_tsn || self.stale_pseudo_cum_acks
    }

    /// The switch of this name.
    pub fn switch(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "burst-limit-stays" => &mut self.burst_limit_stays,
            "marked-stay-outstanding" => &mut self.marked_stay_outstanding,
            "timeouts-send-no-new-data" => &mut self.timeouts_send_no_new_data,
            "resent-wait-for-t3" => &mut self.resent_wait_for_t3,
            "misses-by-gap-acks" => &mut self.misses_by_gap_acks,
            "stale-pseudo-cum-acks" => &mut self.stale_pseudo_cum_acks,
            "grows-in-recovery" => &mut self.grows_in_recovery,
            "cuts-by-tsn" => &mut self.cuts_by_tsn,
            "allowance-of-target" => &mut self.allowance_of_target,
            "t3-by-tsn" => &mut self.t3_by_tsn,
            "idle-halves-alone" => &mut self.idle_halves_alone,
            "believes-overtaken-sacks" => &mut self.believes_overtaken_sacks,
            _ => return None,
        })
    }
}
