//! What records need of a cipher, in one direction.

#[cfg(feature = "aws-lc-rs")]
pub(crate) use ::aws_lc_rs as library;
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
pub(crate) use ::ring as library;
use polypath_proto::protection::RECORD_HEADER_LEN;

use super::suite::IV_LEN;

/// Bytes of a tag.
pub(crate) const TAG_LEN: usize = 16;

/// Bytes of ciphertext that the mask of a number is made of (RFC 9147 section 4.2.3).
pub(crate) const SAMPLE_LEN: usize = 16;

/// The header of a record with its number unmasked, which is what is authenticated (RFC 9147
/// section 4).
pub(crate) type Header = [u8; RECORD_HEADER_LEN];

/// What a record's content is encrypted with, once per key.
pub(crate) type Nonce = [u8; IV_LEN];

/// One direction's keys, ready for use.
pub(crate) trait Cipher: core::fmt::Debug + Send {
    /// Encrypts in place, and gives the tag. `None`: it is too long for the cipher.
    fn seal(&self, nonce: Nonce, header: Header, content: &mut [u8]) -> Option<[u8; TAG_LEN]>;

    /// Decrypts ciphertext and tag in place; the tag stays behind the content. False if it is not
    /// authentic: what `record` holds then is of no use.
    fn open(&self, nonce: Nonce, header: Header, record: &mut [u8]) -> bool;

    /// What the number of a record is hidden by.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Option<[u8; 2]>;
}
