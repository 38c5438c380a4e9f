//! Sealing: the keys of one epoch, and the numbers that they have used.

use polypath_proto::protection::HEADROOM;

use super::layout::{self, Record};
use super::nonce;
use crate::aead::{Cipher, KeyMaterial, Nonce, Suite, TAG_LEN, cipher};

/// What packets of one epoch are sealed with.
#[derive(Debug)]
pub(crate) struct Sealer {
    cipher: Box<dyn Cipher>,
    iv: Nonce,
    suite: Suite,
    epoch: u64,
    /// The number of the next record; so many were sealed.
    next: u64,
    /// Bytes of chunks that were sealed.
    bytes: u64,
}

impl Sealer {
    /// `None` if the keys are not the suite's.
    pub(crate) fn new(epoch: u64, suite: Suite, keys: &KeyMaterial) -> Option<Self> {
        let cipher = cipher(suite, keys)?;
        Some(Self { cipher, iv: keys.iv, suite, epoch, next: 0, bytes: 0 })
    }

    /// Makes a DTLS chunk of the chunks at the end of `packet`, as
    /// [`Protection::seal`](polypath_proto::protection::Protection::seal) says. False if the key is
    /// used up, or it is more than one record may hold.
    pub(crate) fn seal(&mut self, packet: &mut Vec<u8>, at: usize) -> bool {
        let content = packet.len().checked_sub(at + HEADROOM);
        let Some(content) = content.filter(|len| *len <= layout::MAX_CONTENT) else {
            return false;
        };
        if self.is_exhausted() {
            return false;
        }
        let number = self.next;
        // First of all, so that no number is used twice whatever happens below.
        self.next += 1;
        self.bytes += content as u64;
        packet.reserve(1 + TAG_LEN + 3);
        packet.push(layout::APPLICATION_DATA);
        self.encrypt(number, packet, at).is_some()
    }

    fn encrypt(&self, number: u64, packet: &mut Vec<u8>, at: usize) -> Option<()> {
        let header = layout::header(self.epoch, number);
        let content = packet.get_mut(at + HEADROOM..)?;
        let tag = self.cipher.seal(nonce(self.iv, number), header, content)?;
        packet.extend_from_slice(&tag);
        let len = u16::try_from(packet.len() - at).ok()?;
        let (front, sealed) = packet.get_mut(at..)?.split_first_chunk_mut::<HEADROOM>()?;
        let [first, second] = self.cipher.mask(sealed.first_chunk()?)?;
        let [form, high, low] = header;
        *front = layout::front(len, [form, high ^ first, low ^ second]);
        packet.resize(at + usize::from(len).next_multiple_of(4), 0);
        Some(())
    }

    /// Opens the chunk of one of the latest 65,536 records that it has sealed, and appends what is
    /// in it to `out`, which is as it was if that is not one of them.
    pub(crate) fn open_own(&self, chunk: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let opened = self.content_of(chunk, out);
        out.truncate(start + opened.unwrap_or_default());
        opened.is_some()
    }

    fn content_of(&self, chunk: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let record = Record::parse(chunk).ok()?;
        let sealed = chunk.get(HEADROOM..)?;
        let latest = self.next.checked_sub(1)?;
        let mask = self.cipher.mask(&record.sample)?;
        let behind = (latest as u16).wrapping_sub(record.number(mask));
        let number = latest.checked_sub(behind.into())?;
        let start = out.len();
        out.extend_from_slice(sealed);
        let header = layout::header(self.epoch, number);
        let opened = self.cipher.open(nonce(self.iv, number), header, out.get_mut(start..)?);
        // Without content type and tag: nothing is padded here.
        opened.then(|| sealed.len().saturating_sub(1 + TAG_LEN))
    }

    /// Whether nothing may be sealed with it any more.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.next >= self.suite.max_sealed()
    }

    /// Records that were sealed.
    pub(crate) const fn sealed(&self) -> u64 {
        self.next
    }

    /// Bytes of chunks that were sealed.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// As if so many records had been sealed.
    #[cfg(test)]
    pub(crate) const fn set_sealed(&mut self, number: u64) {
        self.next = number;
    }
}
