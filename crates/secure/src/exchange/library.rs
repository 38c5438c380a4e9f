//! The library of ciphers that rustls and we use: one place says which.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::{CipherSuite, SupportedCipherSuite};

#[cfg(feature = "aws-lc-rs")]
pub(crate) use aws_lc_rs::{digest, hkdf};
#[cfg(not(feature = "aws-lc-rs"))]
pub(crate) use ring::{digest, hkdf};
#[cfg(feature = "aws-lc-rs")]
use rustls::crypto::aws_lc_rs as backend;
#[cfg(not(feature = "aws-lc-rs"))]
use rustls::crypto::ring as backend;

pub(crate) use backend::sign::any_eddsa_type;

/// Fills in the system's random numbers; `None` if it has none.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Option<()> {
    backend::default_provider().secure_random.fill(bytes).ok()
}

/// What TLS is done with: never the provider of the process, which others may set.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    let cipher_suites = by_preference(has_aes()).to_vec();
    Arc::new(CryptoProvider { cipher_suites, ..backend::default_provider() })
}

/// AES first where the CPU has instructions for it, else ChaCha20, which is fast everywhere.
fn by_preference(aes: bool) -> [SupportedCipherSuite; 3] {
    use backend::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    let mut suites =
        [TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];
    if !aes {
        suites.rotate_right(1);
    }
    suites
}

/// Whether this CPU has instructions for AES-GCM.
pub(crate) fn has_aes() -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("pclmulqdq")
    }
    #[cfg(target_arch = "aarch64")]
    {
        std::arch::is_aarch64_feature_detected!("aes")
            && std::arch::is_aarch64_feature_detected!("pmull")
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    {
        false
    }
}

/// The cipher of records that goes with one of TLS.
pub(crate) const fn suite_of(suite: CipherSuite) -> Option<crate::aead::Suite> {
    use crate::aead::Suite;
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => Some(Suite::Aes128Gcm),
        CipherSuite::TLS13_AES_256_GCM_SHA384 => Some(Suite::Aes256Gcm),
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => Some(Suite::ChaCha20Poly1305),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aead::Suite;

    fn order(aes: bool) -> [Option<Suite>; 3] {
        by_preference(aes).map(|suite| suite_of(suite.suite()))
    }

    #[test]
    fn chacha_is_first_without_aes() {
        let (aes128, aes256) = (Some(Suite::Aes128Gcm), Some(Suite::Aes256Gcm));
        let chacha = Some(Suite::ChaCha20Poly1305);
        assert_eq!(order(true), [aes128, aes256, chacha]);
        assert_eq!(order(false), [chacha, aes128, aes256]);
    }
}
