//! The parts of Concurrent Multipath Transfer, each with its switch.

/// The parts of CMT (Iyengar et al. 2006).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmtConfig {
    /// Split fast retransmit: miss indications only from newer TSNs of the same path. Off: RFC 9260's HTNA over all paths.
    pub sfr: bool,
    /// Cwnd update for CMT.
    pub cuc: Cuc,
    /// Delayed ack for CMT: delay SACKs in spite of gaps, and tell how many packets a SACK covers.
    pub dac: bool,
    /// Use DAC although the peer does not announce it: for stacks that are known to count the packets behind a SACK, but have
    /// no way to say so (FreeBSD, usrsctp).
    pub dac_unannounced: bool,
    /// NR-SACK (draft-natarajan-tsvwg-sctp-nrsack).
    pub nr_sack: NrSack,
    /// Which chunks a first T3-rtx expiry marks.
    pub t3_marks: T3Marks,
    /// Take RTT samples only from SACKs that arrive on the path of the chunk (the rule of the INET model).
    pub rtt_same_path: bool,
}

impl Default for CmtConfig {
    fn default() -> Self {
        Self {
            sfr: true,
            cuc: Cuc::V2,
            dac: true,
            dac_unannounced: false,
            nr_sack: NrSack::Off,
            t3_marks: T3Marks::All,
            rtt_same_path: true,
        }
    }
}

/// Cwnd update for CMT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuc {
    /// Windows grow only when the cum-ack advances (RFC 9260).
    Off,
    /// One pseudo-cum-ack per path (Iyengar 2004).
    V1,
    /// Two: of chunks sent once, and of chunks sent again (Iyengar 2006).
    V2,
}

/// When a TSN above the cum-ack is reported as non-renegable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NrSack {
    /// Plain SACKs.
    Off,
    /// Once it was delivered to the application (S0, S4).
    Delivered,
    /// As soon as it was received: a receiver that never reneges.
    Received,
}

/// Which chunks of a path its first T3-rtx expiry marks for retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum T3Marks {
    /// All that are in flight.
    All,
    /// Those sent at least one SRTT ago (Iyengar 2004's amendment), or one RTO where its bound makes that shorter; all of them at
    /// later expiries.
    OlderThanSrtt,
}
