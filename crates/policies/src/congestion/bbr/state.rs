//! The states of BBR, and what each does to the rate and to the window (the draft's "Summary of
//! Control Behavior in the State Machine").

/// BBR.StartupPacingGain: 4 ln 2.
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;
/// BBR.DefaultCwndGain.
const CWND_GAIN: f64 = 2.0;

/// BBR.state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BbrState {
    /// The rate doubles in each round trip.
    #[default]
    Startup,
    /// What queued up in Startup leaves.
    Drain,
    /// ProbeBW_DOWN: slower than the path, so that queues drain and others find room.
    Down,
    /// ProbeBW_CRUISE: as fast as the path.
    Cruise,
    /// ProbeBW_REFILL: a round trip at the rate of the path, to have it full before it is exceeded.
    Refill,
    /// ProbeBW_UP: faster than the path, in search of more.
    Up,
    /// Little in flight, to see the round trip without a queue.
    ProbeRtt,
}

impl BbrState {
    /// Its name in the draft.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::Down => "ProbeBW_DOWN",
            Self::Cruise => "ProbeBW_CRUISE",
            Self::Refill => "ProbeBW_REFILL",
            Self::Up => "ProbeBW_UP",
            Self::ProbeRtt => "ProbeRTT",
        }
    }

    /// BBR.pacing_gain: the rate over the estimated bandwidth.
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => 1.25,
        }
    }

    /// BBR.cwnd_gain: the window over the estimated bandwidth-delay product.
    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            Self::Up => 2.25,
            Self::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// `IsInAProbeBWState`.
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`: it accelerates, and losses say how far it may go.
    pub(super) const fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// BBR.ProbeRTTCwndGain.
pub(super) const PROBE_RTT_CWND_GAIN: f64 = 0.5;
