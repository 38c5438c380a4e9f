//! Key pairs, and the public half of those of others.

use core::fmt;
use std::sync::Arc;

use data_encoding::BASE64;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;
use zeroize::Zeroizing;

use super::fingerprint::Fingerprint;
use crate::exchange::library::{any_eddsa_type, fill_random};

/// What stands before the seed of an Ed25519 key in PKCS#8 (RFC 8410 section 7, version 1: what
/// every program reads).
const PKCS8_HEADER: [u8; 16] =
    [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----\n";
const PEM_END: &str = "\n-----END PRIVATE KEY-----\n";

/// An Ed25519 key pair: who this end is. The private key is wiped when the last clone goes; what
/// the library keeps of it to sign with is not.
#[derive(Clone)]
pub struct Identity {
    pkcs8: Arc<Zeroizing<Vec<u8>>>,
    signing: Arc<dyn SigningKey>,
    public: PublicKey,
}

/// There is no key pair.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The text or the bytes are something else.
    #[error("not a private key: {0}; allowed: an Ed25519 key as PKCS#8 (`BEGIN PRIVATE KEY`)")]
    NotAKey(&'static str),
    /// The system gave no random numbers.
    #[error("the system gives no random numbers for a key")]
    NoRandomness,
}

impl Identity {
    /// A new one, of the system's random numbers.
    ///
    /// # Errors
    /// If the system has none.
    pub fn generate() -> Result<Self, IdentityError> {
        let mut seed = Zeroizing::new([0; 32]);
        fill_random(&mut *seed).ok_or(IdentityError::NoRandomness)?;
        Self::from_seed(&seed)
    }

    /// That of an Ed25519 seed (RFC 8032 section 5.1.5).
    pub(super) fn from_seed(seed: &[u8; 32]) -> Result<Self, IdentityError> {
        let mut der = Zeroizing::new(Vec::with_capacity(PKCS8_HEADER.len() + seed.len()));
        der.extend_from_slice(&PKCS8_HEADER);
        der.extend_from_slice(seed);
        Self::from_pkcs8_der(&der)
    }

    /// That of a PKCS#8 document, with or without its public key.
    ///
    /// # Errors
    /// If it is none, or its key no Ed25519 key.
    pub fn from_pkcs8_der(der: &[u8]) -> Result<Self, IdentityError> {
        let error = IdentityError::NotAKey("it holds no Ed25519 key");
        let signing = any_eddsa_type(&PrivatePkcs8KeyDer::from(der)).map_err(|_| error.clone())?;
        let public = signing.public_key().ok_or(error)?;
        let public = PublicKey::from_spki(public.as_ref());
        Ok(Self { pkcs8: Arc::new(Zeroizing::new(der.to_vec())), signing, public })
    }

    /// That of a PEM text, as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// If it is none, or its key no Ed25519 key.
    pub fn from_pkcs8_pem(pem: &str) -> Result<Self, IdentityError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|_| IdentityError::NotAKey("it has no such section"))?;
        Self::from_pkcs8_der(der.secret_pkcs8_der())
    }

    /// The private key as PKCS#8.
    #[must_use]
    pub fn pkcs8_der(&self) -> &[u8] {
        &self.pkcs8
    }

    /// The private key as a PEM text, for a file that nobody else reads.
    #[must_use]
    pub fn to_pkcs8_pem(&self) -> Zeroizing<String> {
        let digits = Zeroizing::new(BASE64.encode(&self.pkcs8));
        let lines = digits.len().div_ceil(64);
        // Of its size from the start: a buffer that grows leaves copies behind.
        let size = PEM_BEGIN.len() + digits.len() + lines + PEM_END.len();
        let mut pem = Zeroizing::new(String::with_capacity(size));
        pem.push_str(PEM_BEGIN);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && index.is_multiple_of(64) {
                pem.push('\n');
            }
            pem.push(digit);
        }
        pem.push_str(PEM_END);
        pem
    }

    /// What others know this end by.
    #[must_use]
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn signing(&self) -> Arc<dyn SigningKey> {
        Arc::clone(&self.signing)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public.fingerprint())
    }
}

/// A public key: a SubjectPublicKeyInfo (DER).
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// That of a SubjectPublicKeyInfo (DER), as [`Protection::peer`] tells it.
    ///
    /// [`Protection::peer`]: polypath_proto::protection::Protection::peer
    #[must_use]
    pub fn from_spki(spki: &[u8]) -> Self {
        Self(spki.to_vec())
    }

    /// The SubjectPublicKeyInfo (DER).
    #[must_use]
    pub fn spki(&self) -> &[u8] {
        &self.0
    }

    /// What people compare.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 8410 section 10.3: a private key alone, and with its public key.
    const ALONE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";
    const WITH_PUBLIC_KEY: &str = "-----BEGIN PRIVATE KEY-----
MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB
Z9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PRIVATE KEY-----
";
    /// RFC 8410 section 10.1: its public key.
    const PUBLIC: &str = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";

    #[test]
    fn the_keys_of_rfc_8410_are_read() {
        let identity = Identity::from_pkcs8_pem(ALONE).unwrap();
        assert_eq!(BASE64.encode(identity.public().spki()), PUBLIC);
        assert_eq!(*identity.to_pkcs8_pem(), ALONE);
        // Attributes in between are rare enough that libraries refuse them: an error, never a
        // panic.
        let _ = Identity::from_pkcs8_pem(WITH_PUBLIC_KEY);
    }

    #[test]
    fn a_new_key_survives_its_file() {
        let identity = Identity::generate().unwrap();
        let again = Identity::from_pkcs8_pem(&identity.to_pkcs8_pem()).unwrap();
        assert_eq!(identity.public(), again.public());
        assert_ne!(identity.public(), Identity::generate().unwrap().public());
        assert!(!format!("{identity:?}").contains(&BASE64.encode(identity.pkcs8_der())));
    }

    #[test]
    fn other_texts_are_no_keys() {
        // An EC key (P-256), of RFC 5915's form in PKCS#8, cut off.
        let other = "-----BEGIN PRIVATE KEY-----\nMEECAQAwEwYHKoZIzj0CAQYIKoZIzj0D\n-----END PRIVATE KEY-----\n";
        for text in ["", "pp:", PUBLIC, other, &ALONE.replace("PRIVATE", "PUBLIC")] {
            let error = Identity::from_pkcs8_pem(text).unwrap_err();
            assert!(error.to_string().contains("PKCS#8"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(der: Vec<u8>, at in 0_usize..48, byte: u8) {
            let _ = Identity::from_pkcs8_der(&der);
            let mut changed = Identity::from_seed(&[7; 32]).unwrap().pkcs8_der().to_vec();
            changed[at] = byte;
            let _ = Identity::from_pkcs8_der(&changed);
        }
    }
}
