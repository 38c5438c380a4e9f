//! When SACKs are sent, and where they go.

use crate::time::Duration;

/// Delayed acknowledgement (RFC 9260 section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackConfig {
    /// SACK.Delay; RFC 9260 forbids more than 500 ms.
    pub delay: Duration,
    /// A SACK for every so many packets with DATA.
    pub every: u32,
    /// Which path a SACK takes.
    pub path: SackPath,
    /// Send a SACK when the application has freed a quarter of the buffer, or a shut window
    /// reopens. Off, as in ns-2's module: the peer learns of room by the SACKs for its data alone,
    /// and by probes.
    pub window_updates: bool,
    /// Where DAC does not delay it anyway, answer at once the packet that fills the last gap: RFC
    /// 5681 section 4.2 asks for it, RFC 9260 section 6.7 leaves it open. Off, as in ns-2's module:
    /// a packet that leaves no gap waits for the next one, or for the delay.
    pub sack_when_gap_fills: bool,
    /// DAC: tell, and let count, the packets that a SACK of the delay's timer covers. Off, as in
    /// ns-2's module, whose timer clears the count before it writes the SACK: such a SACK alone
    /// makes no chunk missing.
    pub dac_count_in_timer_sack: bool,
    /// Gap ack blocks that a SACK reports at most, the lowest first; in an NR-SACK, blocks of both
    /// kinds together. `None`: as many as its packet takes. RFC 9260 section 3.3.4 leaves the
    /// number to the receiver; Linux reports 16.
    pub max_gap_blocks: Option<u16>,
    /// Tell the peer that fewer and shorter SACKs will do, and send such to a peer that tells so:
    /// with what is new, now and then with all, and, where they queue on the way back, some eight
    /// per round trip of the nearest path. Off: as RFC 9260 section 6.2 has it.
    ///
    /// As receiver this needs [`NrSack::Received`](super::NrSack::Received), for what another SACK
    /// leaves out is withdrawn. As sender it wants windows that count packets, not SACKs
    /// ([`CcConfig::abc_per_acked`](super::CcConfig::abc_per_acked),
    /// [`CcConfig::full_for_round_trip`](super::CcConfig::full_for_round_trip),
    /// [`BurstRule::PerAcked`](super::BurstRule::PerAcked)), losses that are found by their times
    /// ([`RecoveryConfig::rack`](super::RecoveryConfig::rack)), and round trips measured by SACKs
    /// of any path. Data is [paced](super::AssocConfig::pacing), whatever the peer agreed to: at
    /// the rate that the congestion control names while its SACKs are spaced, at twice that rate
    /// else.
    pub thinning: bool,
}

impl Default for SackConfig {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(200),
            every: 2,
            path: SackPath::LastData,
            window_updates: true,
            sack_when_gap_fills: true,
            dac_count_in_timer_sack: true,
            max_gap_blocks: None,
            thinning: false,
        }
    }
}

/// Which path a SACK takes: of weight where paths have different delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SackPath {
    /// Back along the path of the last DATA (RFC 9260 section 6.4).
    LastData,
    /// Back along the path of the first DATA since the last SACK, as RFC 9260 section 6.4 allows as
    /// well; the INET model's rule.
    FirstData,
    /// The primary path.
    Primary,
    /// Among the paths on which DATA arrived since the last SACK, the one that carried a SACK
    /// longest ago.
    RoundRobin,
    /// The path with the smallest smoothed RTT. An experiment option: RFC 9260 says not to vary the
    /// destination.
    SmallestSrtt,
}
