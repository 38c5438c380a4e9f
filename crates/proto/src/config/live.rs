//! Settings that may change while an association lives (RFC 6458 section 8.1).

use super::{AssocConfig, RtoConfig};
use crate::time::Duration;

/// RFC 9260 section 6.2: SACK.Delay is at most this.
const MAX_SACK_DELAY: Duration = Duration::from_millis(500);

/// What of an [`AssocConfig`] may change while the association lives. Begin with
/// [`Association::settings`](crate::Association::settings); more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssocSettings {
    /// Retransmission timeouts (SCTP_RTOINFO): bounds count from the next measurement or timeout
    /// on, `initial` for new paths.
    pub rto: RtoConfig,
    /// Association.Max.Retrans (SCTP_ASSOCINFO).
    pub assoc_max_retrans: u32,
    /// Max.Burst (SCTP_MAX_BURST), packets; `None`: no limit.
    pub max_burst: Option<u32>,
    /// SACK.Delay (SCTP_DELAYED_SACK).
    pub sack_delay: Duration,
    /// A SACK for every so many packets with DATA.
    pub sack_every: u32,
}

/// Settings that contradict each other, or the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Bounds in the wrong order.
    #[error("rto: {min:?} to {max:?}: RTO.Min must be above 0 and RTO.Max not below it")]
    Rto {
        /// RTO.Min as given.
        min: Duration,
        /// RTO.Max as given.
        max: Duration,
    },
    /// Too long (RFC 9260 section 6.2).
    #[error("sack_delay: {delay:?}: at most 500 ms are allowed")]
    SackDelay {
        /// As given.
        delay: Duration,
    },
    /// Nothing would ever be acknowledged but by the timer.
    #[error("sack_every: 0: at least 1 is needed")]
    SackEvery,
}

impl AssocSettings {
    pub(crate) const fn of(config: &AssocConfig) -> Self {
        Self {
            rto: config.rto,
            assoc_max_retrans: config.assoc_max_retrans,
            max_burst: config.max_burst,
            sack_delay: config.sack.delay,
            sack_every: config.sack.every,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let RtoConfig { min, max, .. } = self.rto;
        if min.is_zero() || max < min {
            return Err(SettingsError::Rto { min, max });
        }
        if self.sack_delay > MAX_SACK_DELAY {
            return Err(SettingsError::SackDelay { delay: self.sack_delay });
        }
        if self.sack_every == 0 { Err(SettingsError::SackEvery) } else { Ok(()) }
    }

    pub(crate) const fn write(&self, config: &mut AssocConfig) {
        config.rto = self.rto;
        config.assoc_max_retrans = self.assoc_max_retrans;
        config.max_burst = self.max_burst;
        config.sack.delay = self.sack_delay;
        config.sack.every = self.sack_every;
    }
}
