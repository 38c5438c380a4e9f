//! Ciphers by ring or aws-lc-rs, whose interfaces are the same.

use super::direction::library::aead::quic::{self, HeaderProtectionKey};
use super::direction::library::aead::{self, Aad, LessSafeKey, UnboundKey};
use super::direction::{Cipher, Header, Nonce, SAMPLE_LEN, TAG_LEN};
use super::suite::{KeyMaterial, Suite};

/// One direction's keys.
pub(super) struct RealCipher {
    content: LessSafeKey,
    /// QUIC hides its packet numbers as DTLS 1.3 does (RFC 9001 sections 5.4.3 and 5.4.4, RFC 9147
    /// section 4.2.3), but for the number of bytes.
    numbers: HeaderProtectionKey,
}

impl RealCipher {
    pub(super) fn new(suite: Suite, keys: &KeyMaterial) -> Option<Self> {
        let (content, numbers) = match suite {
            Suite::Aes128Gcm => (&aead::AES_128_GCM, &quic::AES_128),
            Suite::Aes256Gcm => (&aead::AES_256_GCM, &quic::AES_256),
            Suite::ChaCha20Poly1305 => (&aead::CHACHA20_POLY1305, &quic::CHACHA20),
            Suite::StandIn => return None,
        };
        Some(Self {
            content: LessSafeKey::new(UnboundKey::new(content, &keys.key).ok()?),
            numbers: HeaderProtectionKey::new(numbers, &keys.number_key).ok()?,
        })
    }
}

impl core::fmt::Debug for RealCipher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("RealCipher(..)")
    }
}

impl Cipher for RealCipher {
    fn seal(&self, nonce: Nonce, header: Header, content: &mut [u8]) -> Option<[u8; TAG_LEN]> {
        let nonce = aead::Nonce::assume_unique_for_key(nonce);
        let tag = self.content.seal_in_place_separate_tag(nonce, Aad::from(header), content);
        tag.ok()?.as_ref().try_into().ok()
    }

    fn open(&self, nonce: Nonce, header: Header, record: &mut [u8]) -> bool {
        let nonce = aead::Nonce::assume_unique_for_key(nonce);
        self.content.open_in_place(nonce, Aad::from(header), record).is_ok()
    }

    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Option<[u8; 2]> {
        let [first, second, ..] = self.numbers.new_mask(sample).ok()?;
        Some([first, second])
    }
}
