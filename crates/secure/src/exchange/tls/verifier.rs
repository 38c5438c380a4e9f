//! Who the peer is: its signature first, then whether it is let in.

use std::sync::{Arc, OnceLock};

use polypath_proto::protection::ProtectionFailure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    SignatureScheme,
};

use crate::exchange::library;
use crate::identity::{PublicKey, Trust};

/// Lets the peer of one exchange in, or not, and remembers who it was.
#[derive(Debug)]
pub(super) struct Gate {
    trust: Trust,
    /// The peer's key of the association's first exchange.
    known: Option<Vec<u8>>,
    peer: OnceLock<Vec<u8>>,
    refusal: OnceLock<ProtectionFailure>,
}

impl Gate {
    pub(super) fn new(trust: Trust, known: Option<&[u8]>) -> Self {
        Self {
            trust,
            known: known.map(<[u8]>::to_vec),
            peer: OnceLock::new(),
            refusal: OnceLock::new(),
        }
    }

    /// The key of who was let in.
    pub(super) fn peer(&self) -> Option<&[u8]> {
        self.peer.get().map(Vec::as_slice)
    }

    /// Whether the peer was let in when the association was set up: it has to have the same key
    /// now, whatever else it shows.
    #[cfg(feature = "pki")]
    pub(super) const fn has_met_peer(&self) -> bool {
        self.known.is_some()
    }

    /// Why the peer was not.
    pub(super) fn refusal(&self) -> Option<&ProtectionFailure> {
        self.refusal.get()
    }

    /// The peer has proved to own the key `spki`. Only then the trust is asked: who but names the
    /// key of a code must not use that up. Who was let in at the association's first exchange stays
    /// in, for a code is used up by that.
    pub(super) fn admit(&self, spki: &[u8]) -> Result<(), Error> {
        let refusal = match &self.known {
            Some(known) if known == spki => None,
            Some(_) => Some(ProtectionFailure::PeerChanged),
            None if self.trust.admits(&PublicKey::from_spki(spki)) => None,
            None => Some(ProtectionFailure::UnknownPeer { key: spki.to_vec() }),
        };
        if let Some(refusal) = refusal {
            self.refusal.get_or_init(|| refusal);
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        self.peer.get_or_init(|| spki.to_vec());
        Ok(())
    }
}

/// Takes raw Ed25519 keys alone.
#[derive(Debug)]
pub struct RawKeyVerifier {
    gate: Arc<Gate>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl RawKeyVerifier {
    /// For handshakes of rustls by itself, which tests and benchmarks compare with: any key whose
    /// signature is right.
    pub fn of_anyone() -> Self {
        let gate = Arc::new(Gate::new(Trust::anyone(), None));
        Self::new(gate, library::provider().signature_verification_algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    pub(super) fn new(gate: Arc<Gate>, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { gate, algorithms }
    }

    fn verify(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let spki = SubjectPublicKeyInfoDer::from(key.as_ref());
        let valid = verify_tls13_signature_with_raw_key(message, &spki, signed, &self.algorithms)?;
        self.gate.admit(spki.as_ref())?;
        Ok(valid)
    }
}

/// RFC 7250 section 3: one key, nothing beside it.
fn alone(intermediates: &[CertificateDer<'_>]) -> Result<(), Error> {
    if intermediates.is_empty() { Ok(()) } else { Err(CertificateError::BadEncoding.into()) }
}

/// TLS 1.2 is never spoken.
pub(super) fn no_tls12() -> Error {
    PeerIncompatible::Tls12NotOffered.into()
}

/// What clients and servers ask of a verifier in the same words; `verify` and `schemes` are its
/// own.
macro_rules! tls13_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err($crate::exchange::tls::verifier::no_tls12())
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.verify(message, certificate, signed)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.schemes()
        }
    };
}
#[cfg(feature = "pki")]
pub(super) use tls13_signatures;

impl ServerCertVerifier for RawKeyVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        alone(intermediates)?;
        Ok(ServerCertVerified::assertion())
    }

    tls13_signatures!();

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for RawKeyVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        alone(intermediates)?;
        Ok(ClientCertVerified::assertion())
    }

    tls13_signatures!();

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
