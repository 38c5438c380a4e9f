//! Encrypted SCTP associations: what [`polypath_proto::protection`] asks for. Records of the DTLS
//! chunk (draft-ietf-tsvwg-sctp-dtls-chunk), keys by TLS 1.3 ([`Tls`]) or from a shared secret
//! ([`PreShared`]), identities ([`Identity`]) and whom to trust ([`Trust`]). Without I/O.
//!
//! ```
//! # #[cfg(feature = "ring")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use polypath_proto::config::AssocConfig;
//! use polypath_secure::{Identity, Tls, Trust};
//!
//! // Who we are, and the fingerprint of the only peer that we let in.
//! let identity = Identity::generate()?;
//! let peer = Identity::generate()?.public().fingerprint();
//! let keys = Tls::new(&identity, Trust::pinned([peer]));
//! let config = AssocConfig { protection: Some(Arc::new(keys)), ..AssocConfig::default() };
//! # assert!(config.protection.is_some());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "ring"))]
//! # fn main() {}
//! ```
//!
//! # Features
//! - `ring` (default): ciphers and TLS 1.3 by ring and rustls.
//! - `aws-lc-rs` (off by default): the same by aws-lc-rs and rustls; it is taken where both are on.
//! - `pki` (off by default): X.509 certificates in place of raw public keys, for those who have
//!   them.
//!
//! Without `ring` and `aws-lc-rs` there is but the [`StandIn`], for simulations.

#![forbid(unsafe_code)]

mod aead;
mod exchange;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod identity;
mod mix;
mod policy;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod psk;
mod record;
mod session;
mod stand_in;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod tls;

pub use aead::Suite;
pub use policy::RekeyPolicy;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub use psk::PreShared;
pub use session::{FixedKeys, RecordKeys};
pub use stand_in::StandIn;

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
#[doc(hidden)]
pub use exchange::bare::{BareExchange, BareKeys};
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub use exchange::tls::KeyLog;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
#[doc(hidden)]
pub use exchange::tls::RawKeyVerifier;
#[cfg(all(feature = "pki", any(feature = "ring", feature = "aws-lc-rs")))]
pub use exchange::tls::{CertificateError, Certificates, WallClock};
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub use identity::{
    AllowList, CodeError, Enrolment, Fingerprint, FingerprintError, Identity, IdentityError,
    KnownPeers, PublicKey, Standing, TextError, Trust,
};
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub use tls::Tls;
