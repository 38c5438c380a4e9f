//! Certificates in place of raw keys, for those who have them.

use core::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use super::no_time::NoTime;
use super::verifier::{Gate, tls13_signatures};
use crate::exchange::library;

/// Tells what time it is: certificates have dates.
pub trait WallClock: fmt::Debug + Send + Sync {
    /// Seconds since 1970, UTC.
    fn unix_seconds(&self) -> u64;
}

/// An X.509 certificate of our own, and which of others are taken.
///
/// Alone, a peer's certificate may be any (also one that it signed itself): its key counts, which
/// [`Trust`](crate::Trust) lets in or not. [`verified_by`](Self::verified_by) demands a chain to
/// given roots before that.
#[derive(Clone, Debug)]
pub struct Certificates {
    own: Arc<CertifiedKey>,
    roots: Option<Roots>,
}

#[derive(Clone, Debug)]
struct Roots {
    servers: Arc<WebPkiServerVerifier>,
    clients: Arc<dyn ClientCertVerifier>,
    server_name: ServerName<'static>,
    clock: Arc<dyn WallClock>,
}

/// Certificates cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct CertificateError {
    what: &'static str,
    why: String,
}

fn error(what: &'static str) -> impl Fn(&dyn fmt::Display) -> CertificateError {
    move |why| CertificateError { what, why: why.to_string() }
}

impl Certificates {
    /// Of PEM texts: a chain of certificates, our own first, and its private key (PKCS#8).
    ///
    /// # Errors
    /// If one of them is something else, or they do not belong together.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, CertificateError> {
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|e| error("private key")(&e))?;
        let own = CertifiedKey::from_der(certificates(chain)?, key, &library::provider())
            .map_err(|e| error("certificate and its key")(&e))?;
        Ok(Self { own: Arc::new(own), roots: None })
    }

    /// Takes only peers whose certificate is good at the time of `clock`, with a chain to one of
    /// `roots` (PEM); and only servers that it names `server_name`.
    ///
    /// # Errors
    /// If there are no roots, or that is no name.
    pub fn verified_by(
        mut self,
        roots: &str,
        server_name: &str,
        clock: Arc<dyn WallClock>,
    ) -> Result<Self, CertificateError> {
        let mut store = RootCertStore::empty();
        for root in certificates(roots)? {
            store.add(root).map_err(|e| error("root certificate")(&e))?;
        }
        let store = Arc::new(store);
        let provider = library::provider();
        let servers =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&store), Arc::clone(&provider))
                .build()
                .map_err(|e| error("root certificates")(&e))?;
        let clients = WebPkiClientVerifier::builder_with_provider(store, provider)
            .build()
            .map_err(|e| error("root certificates")(&e))?;
        let server_name =
            ServerName::try_from(server_name.to_owned()).map_err(|e| error("server's name")(&e))?;
        self.roots = Some(Roots { servers, clients, server_name, clock });
        Ok(self)
    }

    pub(super) fn resolver(&self) -> Arc<SingleCertAndKey> {
        Arc::new(SingleCertAndKey::from(Arc::clone(&self.own)))
    }

    pub(super) fn server_name(&self) -> Option<ServerName<'static>> {
        let roots = self.roots.as_ref()?;
        Some(roots.server_name.clone())
    }

    pub(super) fn time(&self) -> Arc<dyn TimeProvider> {
        match &self.roots {
            Some(roots) => Arc::new(Time(Arc::clone(&roots.clock))),
            None => Arc::new(NoTime),
        }
    }

    pub(super) fn verifier(
        self: &Arc<Self>,
        gate: Arc<Gate>,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Arc<CertificateVerifier> {
        Arc::new(CertificateVerifier { gate, algorithms, certificates: Arc::clone(self) })
    }
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match all {
        Ok(all) if all.is_empty() => Err(error("certificates")(&"there are none")),
        Ok(all) => Ok(all),
        Err(e) => Err(error("certificates")(&e)),
    }
}

#[derive(Debug)]
struct Time(Arc<dyn WallClock>);

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = core::time::Duration::from_secs(self.0.unix_seconds());
        Some(UnixTime::since_unix_epoch(seconds))
    }
}

/// Takes certificates, by their chains if roots are given, and then by their keys.
#[derive(Debug)]
pub(super) struct CertificateVerifier {
    gate: Arc<Gate>,
    algorithms: WebPkiSupportedAlgorithms,
    certificates: Arc<Certificates>,
}

impl CertificateVerifier {
    /// What a certificate must lead to. Who replaces keys was judged at set-up, and may be server
    /// of the exchange now that was its client then, which its certificate need not allow.
    fn roots(&self) -> Option<&Roots> {
        self.certificates.roots.as_ref().filter(|_| !self.gate.has_met_peer())
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn verify(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let valid = verify_tls13_signature(message, certificate, signed, &self.algorithms)?;
        let parsed = ParsedCertificate::try_from(certificate)?;
        self.gate.admit(parsed.subject_public_key_info().as_ref())?;
        Ok(valid)
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.roots() {
            Some(roots) => {
                roots.servers.verify_server_cert(end_entity, intermediates, name, ocsp, now)
            }
            None => Ok(ServerCertVerified::assertion()),
        }
    }

    tls13_signatures!();
}

impl ClientCertVerifier for CertificateVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self.roots() {
            Some(roots) => roots.clients.verify_client_cert(end_entity, intermediates, now),
            None => Ok(ClientCertVerified::assertion()),
        }
    }

    tls13_signatures!();
}
