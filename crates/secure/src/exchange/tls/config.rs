//! How TLS is spoken: version 1.3, mutual authentication, nothing resumed, nobody named.

use std::sync::Arc;

use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, Error, NoKeyLog, ServerConfig, ServerConnection,
};

use super::super::{Exchange, Exchanges};
use super::key_log::{KeyLog, Logger};
use super::machine::TlsExchange;
use super::no_time::NoTime;
#[cfg(feature = "pki")]
use super::pki::Certificates;
use super::verifier::{Gate, RawKeyVerifier};
use crate::exchange::library;
use crate::identity::{Identity, Trust};

/// What an end proves who it is with.
#[derive(Clone, Debug)]
pub(super) enum Credentials {
    /// A raw public key; the peer, too.
    RawKey(Arc<CertifiedKey>),
    #[cfg(feature = "pki")]
    Certificates(Arc<Certificates>),
}

/// Key exchanges by TLS 1.3.
#[derive(Clone, Debug)]
pub(crate) struct TlsExchanges {
    provider: Arc<CryptoProvider>,
    credentials: Credentials,
    trust: Trust,
    key_log: Arc<dyn rustls::KeyLog>,
}

impl TlsExchanges {
    /// With raw public keys.
    pub(crate) fn new(identity: &Identity, trust: Trust) -> Self {
        let key = CertificateDer::from(identity.public().spki().to_vec());
        let key = CertifiedKey::new(vec![key], identity.signing());
        Self::with(Credentials::RawKey(Arc::new(key)), trust)
    }

    /// With certificates.
    #[cfg(feature = "pki")]
    pub(crate) fn with_certificates(certificates: Certificates, trust: Trust) -> Self {
        Self::with(Credentials::Certificates(Arc::new(certificates)), trust)
    }

    fn with(credentials: Credentials, trust: Trust) -> Self {
        Self { provider: library::provider(), credentials, trust, key_log: Arc::new(NoKeyLog) }
    }

    /// Tells secrets to `log`.
    pub(crate) fn log_keys(&mut self, log: Arc<dyn KeyLog>) {
        self.key_log = Arc::new(Logger(log));
    }

    fn client_connection(&self, gate: &Arc<Gate>) -> Result<Connection, Error> {
        let builder = ClientConfig::builder_with_details(Arc::clone(&self.provider), self.time())
            .with_protocol_versions(&[&TLS13])?
            .dangerous();
        let gate = Arc::clone(gate);
        let algorithms = self.provider.signature_verification_algorithms;
        let mut config = match &self.credentials {
            Credentials::RawKey(key) => builder
                .with_custom_certificate_verifier(Arc::new(RawKeyVerifier::new(gate, algorithms)))
                .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                    Arc::clone(key),
                ))),
            #[cfg(feature = "pki")]
            Credentials::Certificates(own) => builder
                .with_custom_certificate_verifier(own.verifier(gate, algorithms))
                .with_client_cert_resolver(own.resolver()),
        };
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        config.key_log = Arc::clone(&self.key_log);
        let connection = ClientConnection::new(Arc::new(config), self.server_name())?;
        Ok(Connection::Client(connection))
    }

    fn server_connection(&self, gate: &Arc<Gate>) -> Result<Connection, Error> {
        let builder = ServerConfig::builder_with_details(Arc::clone(&self.provider), self.time())
            .with_protocol_versions(&[&TLS13])?;
        let gate = Arc::clone(gate);
        let algorithms = self.provider.signature_verification_algorithms;
        let mut config = match &self.credentials {
            Credentials::RawKey(key) => builder
                .with_client_cert_verifier(Arc::new(RawKeyVerifier::new(gate, algorithms)))
                .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::clone(
                    key,
                )))),
            #[cfg(feature = "pki")]
            Credentials::Certificates(own) => builder
                .with_client_cert_verifier(own.verifier(gate, algorithms))
                .with_cert_resolver(own.resolver()),
        };
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        // A client knows its own CPU best, but a server without AES serves many.
        config.ignore_client_order = !library::has_aes();
        config.key_log = Arc::clone(&self.key_log);
        Ok(Connection::Server(ServerConnection::new(Arc::new(config))?))
    }

    fn time(&self) -> Arc<dyn TimeProvider> {
        match &self.credentials {
            Credentials::RawKey(_) => Arc::new(NoTime),
            #[cfg(feature = "pki")]
            Credentials::Certificates(own) => own.time(),
        }
    }

    /// Whom a certificate must name. Keys have no names; rustls wants one all the same.
    fn server_name(&self) -> ServerName<'static> {
        #[cfg(feature = "pki")]
        if let Credentials::Certificates(own) = &self.credentials
            && let Some(name) = own.server_name()
        {
            return name;
        }
        ServerName::IpAddress(core::net::Ipv4Addr::UNSPECIFIED.into())
    }
}

impl Exchanges for TlsExchanges {
    fn client(&self, context: &[u8], known: Option<&[u8]>) -> Box<dyn Exchange> {
        let gate = Arc::new(Gate::new(self.trust.clone(), known));
        let connection = self.client_connection(&gate);
        Box::new(TlsExchange::new(connection, gate, context))
    }

    fn server(&self, context: &[u8], known: Option<&[u8]>) -> Box<dyn Exchange> {
        let gate = Arc::new(Gate::new(self.trust.clone(), known));
        let connection = self.server_connection(&gate);
        Box::new(TlsExchange::new(connection, gate, context))
    }
}
