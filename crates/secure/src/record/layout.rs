//! Where the parts of a DTLS chunk are (draft-ietf-tsvwg-sctp-dtls-chunk section 4.2).

use polypath_proto::protection::{HEADROOM, OpenError, RECORD_HEADER_LEN};

use crate::aead::{Header, SAMPLE_LEN, TAG_LEN};

/// The chunk's type.
pub(super) const CHUNK_TYPE: u8 = 0x41;

/// Chunk flag: sealed with the keys of a restart.
const RESTART: u8 = 1;

/// `001010EE`: a record with a number of 16 bits, without length and connection id, of the epoch
/// that ends with the bits `EE`.
pub(super) const FORM: u8 = 0b0010_1000;

/// The bits of a record's first byte that say its epoch.
pub(super) const EPOCH_BITS: u8 = 0b11;

/// The content type of what is in a record (RFC 8446 section 5.1): application data.
pub(super) const APPLICATION_DATA: u8 = 23;

/// The most that a record may hold (RFC 8446 section 5.1).
pub(super) const MAX_CONTENT: usize = 1 << 14;

/// A record as it came: ciphertext and tag are behind the first [`HEADROOM`] bytes of its chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Its number is still masked.
    header: Header,
    /// What the mask is made of.
    pub(super) sample: [u8; SAMPLE_LEN],
}

impl Record {
    /// The record in a DTLS chunk, which has its header and no padding behind it.
    ///
    /// # Errors
    /// [`OpenError::Malformed`] if it has another form; [`OpenError::NoKey`] for one of a restart,
    /// for which there are no keys.
    pub(crate) fn parse(chunk: &[u8]) -> Result<Self, OpenError> {
        let (front, sealed) = chunk.split_first_chunk::<HEADROOM>().ok_or(OpenError::Malformed)?;
        let [kind, flags, high, low, _pre_padding, form, number @ ..] = *front;
        let len = usize::from(u16::from_be_bytes([high, low]));
        if kind != CHUNK_TYPE || len != chunk.len() || form & !EPOCH_BITS != FORM {
            return Err(OpenError::Malformed);
        }
        if flags & RESTART != 0 {
            return Err(OpenError::NoKey);
        }
        // At least the content type is there beside the tag.
        let sample = sealed.first_chunk().filter(|_| sealed.len() > TAG_LEN);
        let sample = *sample.ok_or(OpenError::Malformed)?;
        let [first, second] = number;
        Ok(Self { header: [form, first, second], sample })
    }

    /// The lowest bits of its epoch.
    pub(crate) const fn epoch_bits(&self) -> u8 {
        let [form, ..] = self.header;
        form & EPOCH_BITS
    }

    /// The lowest bits of its number.
    pub(super) const fn number(&self, mask: [u8; 2]) -> u16 {
        let [_, first, second] = self.header;
        u16::from_be_bytes([first, second]) ^ u16::from_be_bytes(mask)
    }
}

/// The header of a record with its number unmasked.
pub(super) const fn header(epoch: u64, number: u64) -> Header {
    let [high, low] = (number as u16).to_be_bytes();
    [FORM | (epoch as u8 & EPOCH_BITS), high, low]
}

/// Puts header and pre-padding of a chunk of `len` bytes, and the record's header, in front.
pub(super) const fn front(len: u16, record: Header) -> [u8; HEADROOM] {
    let [high, low] = len.to_be_bytes();
    let [form, first, second] = record;
    [CHUNK_TYPE, 0, high, low, 0, form, first, second]
}

const _: () = assert!(HEADROOM == 5 + RECORD_HEADER_LEN);
