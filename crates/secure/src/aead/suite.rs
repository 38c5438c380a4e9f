//! Ciphers, by their TLS names, and the keys that they take.

use zeroize::Zeroize;

/// A cipher of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suite {
    /// TLS_AES_128_GCM_SHA256.
    Aes128Gcm,
    /// TLS_AES_256_GCM_SHA384.
    Aes256Gcm,
    /// TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20Poly1305,
    /// No cipher at all: tags that tell changed packets apart, made with a key that everybody
    /// knows, of the same sizes. For simulations and tests.
    StandIn,
}

impl Suite {
    /// Bytes of a key, and of a key for numbers.
    pub(crate) const fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm | Self::StandIn => 16,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }

    /// Records that may be sealed with one key (RFC 9147 section 4.5.3): 2^24.5 by AES-GCM. Others
    /// are bounded by a record's number (section 4.2.1) alone.
    pub(crate) const fn max_sealed(self) -> u64 {
        match self {
            Self::Aes128Gcm | Self::Aes256Gcm => 23_726_566,
            Self::ChaCha20Poly1305 | Self::StandIn => (1 << 48) - 1,
        }
    }

    /// Openings with one key that may fail (RFC 9147 section 4.5.3): 2^36 whatever the cipher.
    pub(crate) const fn max_failed(self) -> u64 {
        1 << 36
    }
}

/// Bytes of an initialization vector.
pub(crate) const IV_LEN: usize = 12;

/// The keys of one direction. Wiped when they go.
#[derive(Clone)]
pub(crate) struct KeyMaterial {
    /// For records.
    pub(crate) key: Vec<u8>,
    /// For the numbers of records (RFC 9147 section 4.2.3).
    pub(crate) number_key: Vec<u8>,
    /// Initialization vector.
    pub(crate) iv: [u8; IV_LEN],
}

impl core::fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("KeyMaterial(..)")
    }
}

impl Drop for KeyMaterial {
    fn drop(&mut self) {
        self.key.zeroize();
        self.number_key.zeroize();
        self.iv.zeroize();
    }
}
