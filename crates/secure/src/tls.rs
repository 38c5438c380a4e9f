//! Key management by TLS 1.3: what an end is configured with.

use std::sync::Arc;

use polypath_proto::protection::{Agreed, KeyManagement, Protection, Role};
use polypath_proto::time::Time;

use crate::exchange::Exchanges;
use crate::exchange::bare::BareExchange;
use crate::exchange::tls::{KeyLog, TlsExchanges};
use crate::identity::{Identity, Trust};
use crate::policy::RekeyPolicy;
use crate::session::Session;

/// The method's identifier, which draft-porfiri-tsvwg-sctp-dtls-handshake asks for.
const METHOD: u8 = 192;

/// Keys by TLS 1.3 with mutual raw public keys (RFC 7250): this end proves its [`Identity`], and
/// lets in whom its [`Trust`] does. Who is client and who is server, the association says.
#[derive(Clone, Debug)]
pub struct Tls {
    exchanges: Arc<TlsExchanges>,
    policy: RekeyPolicy,
}

impl Tls {
    /// As `identity`, with those that `trust` lets in.
    #[must_use]
    pub fn new(identity: &Identity, trust: Trust) -> Self {
        Self {
            exchanges: Arc::new(TlsExchanges::new(identity, trust)),
            policy: RekeyPolicy::default(),
        }
    }

    /// With X.509 certificates at both ends.
    #[cfg(feature = "pki")]
    #[must_use]
    pub fn with_certificates(certificates: crate::Certificates, trust: Trust) -> Self {
        Self {
            exchanges: Arc::new(TlsExchanges::with_certificates(certificates, trust)),
            policy: RekeyPolicy::default(),
        }
    }

    /// Replaces keys as `policy` says.
    #[must_use]
    pub const fn rekey(mut self, policy: RekeyPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Tells the secrets of its exchanges to `log`. Only for those who asked for it.
    #[must_use]
    pub fn log_keys(mut self, log: Arc<dyn KeyLog>) -> Self {
        Arc::make_mut(&mut self.exchanges).log_keys(log);
        self
    }

    /// A key exchange without an association. `parameters` are both ends' DTLS Key Management
    /// Parameters, the client's first; `known` the key that the peer must have.
    #[doc(hidden)]
    #[must_use]
    pub fn bare_exchange(
        &self,
        role: Role,
        parameters: &[u8],
        known: Option<&[u8]>,
    ) -> BareExchange {
        BareExchange::new(match role {
            Role::Client => self.exchanges.client(parameters, known),
            Role::Server => self.exchanges.server(parameters, known),
        })
    }
}

impl KeyManagement for Tls {
    fn methods(&self) -> &[u8] {
        &[METHOD]
    }

    fn protect(&self, now: Time, agreed: &Agreed) -> Box<dyn Protection> {
        let exchanges = Arc::clone(&self.exchanges) as Arc<_>;
        Box::new(Session::new(now, agreed, exchanges, self.policy))
    }
}
