//! Keys by TLS 1.3 (draft-porfiri-tsvwg-sctp-dtls-handshake): both ends prove their raw public keys
//! (RFC 7250), nothing is resumed, no application data is ever sent, and what remains of it are
//! exported keys.

mod config;
mod export;
mod failure;
mod key_log;
mod machine;
mod no_time;
#[cfg(feature = "pki")]
mod pki;
mod verifier;

pub(crate) use config::TlsExchanges;
pub use key_log::KeyLog;
#[cfg(feature = "pki")]
pub use pki::{CertificateError, Certificates, WallClock};
pub use verifier::RawKeyVerifier;
