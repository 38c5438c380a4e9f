//! Protection without cryptography, for simulations.

use std::sync::Arc;

use polypath_proto::protection::{Agreed, KeyManagement, Protection};
use polypath_proto::time::Time;

use crate::aead::Suite;
use crate::exchange::stand_in::StandInExchanges;
use crate::policy::RekeyPolicy;
use crate::session::Session;

/// The method's identifier: one that nobody else will have.
const METHOD: u8 = 254;

/// Key management that protects nothing: exchanges, messages, records and rekeying are the real
/// ones, and of the sizes that TLS 1.3 with raw public keys and AES-GCM have; but keys follow from
/// the association's seed, and content stays readable. What it does is a function of what both ends
/// agreed on, so that simulations can be repeated.
#[derive(Clone, Copy, Debug)]
pub struct StandIn {
    policy: RekeyPolicy,
    suite: Suite,
}

impl Default for StandIn {
    fn default() -> Self {
        Self::new(RekeyPolicy::default())
    }
}

impl StandIn {
    /// With keys that are replaced as `policy` says.
    #[must_use]
    pub const fn new(policy: RekeyPolicy) -> Self {
        Self { policy, suite: Suite::StandIn }
    }

    /// The same with a real cipher. Its keys are as little secret.
    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    #[must_use]
    pub const fn with_cipher(self, suite: Suite) -> Self {
        Self { suite, ..self }
    }
}

impl KeyManagement for StandIn {
    fn methods(&self) -> &[u8] {
        &[METHOD]
    }

    fn protect(&self, now: Time, agreed: &Agreed) -> Box<dyn Protection> {
        let exchanges = Arc::new(StandInExchanges::new(self.suite, &agreed.seed));
        Box::new(Session::new(now, agreed, exchanges, self.policy))
    }
}
