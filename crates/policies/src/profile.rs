//! The stacks that have a name: settings of the core, and the policies that go with them.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use polypath_proto::config::{
    AssocConfig, BurstRule, CwndUnit, InitialCwnd, InitialSsthresh, NrSack, Ns2Faults, PfConfig,
    RecoveryConfig, Rescheduling, SackPath, T3Marks,
};
use polypath_proto::time::Duration;

use crate::error::PolicyError;
use crate::registry::{PolicySpec, factory};

/// A stack that has a name: settings to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum Profile {
    /// RFC 9260 with CMT: SFR, CUC version 2 and DAC on; NR-SACK and PF off; scheduler rr,
    /// retransmission ssthresh, shared buffers, congestion control rfc9260; all timers and windows
    /// as in RFC 9260.
    Paper,
    /// As paper, with what the CMT module of ns-2.35 does in its place: a receiver that tells of no
    /// freed room, delays the SACK for the packet that fills a gap and lets no SACK of the timer
    /// count for DAC; 16 bytes charged per chunk; RTO.Initial 3s; windows that begin with 4380B and
    /// ssthresh 64KiB and fall to 2mtu; Max.Burst from the first fast retransmit on; RTT samples
    /// from any path; an unlimited send buffer; and the peculiarities and faults of its sender
    /// (`Ns2Faults`).
    Ns2,
    /// What one would deploy: as paper, with the schedulers knapsack and requirements and the
    /// retransmission policy earliest-delivery, congestion control rfc9260 coupled among paths that
    /// were found to share a bottleneck; NR-SACK for all that was received, SACKs on the path of
    /// the smallest RTT, spaced where they queue; RTT samples whichever way they came; RACK,
    /// tail-loss probes, rate reduction, F-RTO, rescheduling from silent paths; PF with probes every
    /// second at least; RTO.Min 200ms, RTO.Max 10s, SACK delay 50ms, heartbeats four times a second,
    /// buffers of 4MiB.
    #[default]
    Fast,
}

impl Profile {
    /// All of them, in the order in which help and errors list them.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Paper, Self::Ns2];

    /// Its name on command lines and in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Paper => "paper",
            Self::Ns2 => "ns2",
        }
    }

    /// Its settings of the core, and its policies by name.
    pub fn stack(self) -> (AssocConfig, PolicySpec) {
        match self {
            Self::Fast => fast(),
            Self::Paper => paper(),
            Self::Ns2 => ns2(),
        }
    }

    /// Whether it repeats what others measured. Extensions that they did not have stay off then.
    pub const fn is_reproduction(self) -> bool {
        matches!(self, Self::Paper | Self::Ns2)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile {name:?} is unknown; allowed: fast, paper, ns2")]
pub struct UnknownProfile {
    /// The text.
    pub name: String,
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        let named = Self::ALL.into_iter().find(|profile| profile.name() == text);
        named.ok_or_else(|| UnknownProfile { name: text.to_owned() })
    }
}

/// RFC 9260 with CMT, whose parts are on by default in the core; but for the second packet after a
/// timeout, with which the papers' experiments were repeated.
pub fn paper() -> (AssocConfig, PolicySpec) {
    let mut assoc = AssocConfig::default();
    assoc.reproduction.limit_to_one_packet_after_t3 = false;
    (assoc, PolicySpec::default())
}

/// What the University of Delaware's module for ns-2.35 does in place of [`paper`];
/// `data/ns2/README.md` has the list, and what is left out of it here.
pub fn ns2() -> (AssocConfig, PolicySpec) {
    let (mut assoc, policies) = paper();
    assoc.reproduction.chunk_charge = 16;
    assoc.send_buffer = u64::MAX;
    assoc.rto.initial = Duration::from_secs(3);
    assoc.sack.window_updates = false;
    assoc.sack.sack_when_gap_fills = false;
    assoc.sack.dac_count_in_timer_sack = false;
    assoc.reproduction.max_burst_rule = BurstRule::AfterFastRetransmit;
    assoc.reproduction.ns2 = Ns2Faults::ALL;
    assoc.cmt.rtt_same_path = false;
    let congestion = &mut assoc.congestion;
    congestion.initial_cwnd = InitialCwnd::Bytes(4380);
    congestion.initial_ssthresh = InitialSsthresh::Bytes(65_536);
    congestion.loss_floor_mtus = 2;
    congestion.abc_limit = 1;
    congestion.unit = CwndUnit::Pmdcs;
    (assoc, policies)
}

/// What one would deploy. RTO.Min and the SACK delay are those of common TCP stacks; the RTO must
/// stay clear of the SACK delay. PFMR 0 is RFC 7829's recommendation. SACKs take the fastest path,
/// since the buffers wait for them; RTT samples then have to count whichever way they came.
pub fn fast() -> (AssocConfig, PolicySpec) {
    let (mut assoc, mut policies) = paper();
    policies.path_scheduler = "knapsack".to_owned();
    policies.stream_scheduler = "requirements".to_owned();
    policies.retransmission = "earliest-delivery".to_owned();
    policies.congestion = "rfc9260?couple=detected&unqueued=true".to_owned();
    assoc.rto.min = Duration::from_millis(200);
    assoc.rto.max = Duration::from_secs(10);
    assoc.sack.delay = Duration::from_millis(50);
    assoc.heartbeat_interval = Some(Duration::from_millis(250));
    assoc.rate_probes = true;
    assoc.sack.path = SackPath::SmallestSrtt;
    assoc.sack.thinning = true;
    assoc.congestion.abc_per_acked = true;
    assoc.congestion.full_for_round_trip = true;
    assoc.cmt.rtt_same_path = false;
    // On a real host packets come in batches, and one SACK answers a batch.
    assoc.reproduction.max_burst_rule = BurstRule::PerAcked;
    assoc.recovery = RecoveryConfig::MODERN;
    assoc.cmt.nr_sack = NrSack::Received;
    assoc.cmt.t3_marks = T3Marks::OlderThanSrtt;
    // A path that was cut off is missed at once, asked about once a second at least, and starts
    // with the initial window of common TCP stacks (RFC 6928) when it is back.
    assoc.recovery.rescheduling = Rescheduling::Silent;
    let probe = Some(Duration::from_secs(1));
    assoc.potentially_failed = Some(PfConfig { return_mtus: 10, probe, ..PfConfig::default() });
    assoc.receive_buffer = 4 << 20;
    assoc.send_buffer = 4 << 20;
    (assoc, policies)
}

/// A stack as one object for the core: `assoc` with the policies that `policies` names.
///
/// # Errors
/// The first name or option that is unknown.
pub fn config((assoc, policies): (AssocConfig, PolicySpec)) -> Result<AssocConfig, PolicyError> {
    Ok(AssocConfig { policies: factory(&policies)?, ..assoc })
}

/// [`fast`] as one object.
///
/// # Errors
/// None in fact: its policies are built in.
pub fn fast_config() -> Result<Arc<AssocConfig>, PolicyError> {
    config(fast()).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_profiles_are_one_to_one() {
        for profile in Profile::ALL {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
        let error = "Fast".parse::<Profile>().unwrap_err().to_string();
        for profile in Profile::ALL {
            assert!(error.contains(profile.name()), "{error}");
        }
    }
}
