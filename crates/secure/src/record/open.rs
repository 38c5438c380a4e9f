//! Opening: the keys of one epoch, and the numbers that were taken.

use core::ops::Range;

use polypath_proto::PathId;
use polypath_proto::protection::{HEADROOM, OpenError};
use polypath_proto::time::{Duration, Time};

use super::layout::{self, Record};
use super::nonce;
use super::numbers::{Likely, Numbers};
use super::paths::{Known, Paths};
use crate::aead::{Cipher, KeyMaterial, Nonce, Suite, TAG_LEN, cipher};

/// What packets of one epoch are opened with.
#[derive(Debug)]
pub(crate) struct Opener {
    cipher: Box<dyn Cipher>,
    iv: Nonce,
    suite: Suite,
    epoch: u64,
    numbers: Numbers,
    /// Openings that failed.
    failed: u64,
    /// The number of the last record was not the one that it seemed to be.
    in_doubt: bool,
    /// When the last one came that was opened.
    latest: Time,
    /// Where a record is copied to before an attempt that may be wrong. Kept while that is each
    /// record, at high rates; an idle association has no room for it.
    copy: Vec<u8>,
}

/// Half of the numbers that 16 bits tell apart, 32,768, are not lost in a row within this time:
/// those were 16 million packets a second.
const SURE_FOR: Duration = Duration::from_millis(2);

/// When and where a packet came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    pub(crate) path: Option<PathId>,
}

impl Opener {
    /// `None` if the keys are not the suite's.
    pub(crate) fn new(epoch: u64, suite: Suite, keys: &KeyMaterial) -> Option<Self> {
        let cipher = cipher(suite, keys)?;
        let numbers = Numbers::default();
        let (iv, in_doubt, latest) = (keys.iv, false, Time::ZERO);
        let copy = Vec::new();
        Some(Self { cipher, iv, suite, epoch, numbers, failed: 0, in_doubt, latest, copy })
    }

    /// Opens a record of this epoch in its chunk, and says where what was in it is there.
    ///
    /// An attempt with a wrong number spoils the ciphertext. Where a record's number may well be
    /// another one, attempts are made in a copy.
    pub(crate) fn open(
        &mut self,
        arrival: Arrival,
        paths: &mut Paths,
        record: &Record,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        if self.is_exhausted() {
            return Err(OpenError::NoKey);
        }
        let sealed = chunk.get_mut(HEADROOM..).ok_or(OpenError::Malformed)?;
        let mask = self.cipher.mask(&record.sample).ok_or(OpenError::Malformed)?;
        let low = record.number(mask);
        let Known { lag, last } = paths.known(arrival.path);
        let last = last.filter(|(epoch, _)| *epoch == self.epoch).map(|(_, number)| number);
        let first = self.numbers.likeliest(arrival.now, lag, last, low);
        let is_fresh = self.numbers.is_fresh(first);
        let may_be_another = !is_fresh
            || self.in_doubt
            || self.numbers.need_paths()
            || arrival.now.since(self.latest) > SURE_FOR;
        let copy = may_be_another.then(|| {
            let mut copy = core::mem::take(&mut self.copy);
            copy.clear();
            copy.extend_from_slice(sealed);
            copy
        });
        let opened = if is_fresh { self.decrypt(first, sealed)? } else { None };
        let (number, content) = match opened {
            Some(content) => (first, content),
            None => {
                self.in_doubt = true;
                let original = copy.as_deref().ok_or(OpenError::Forged)?;
                let likely = self.numbers.likely(arrival.now, lag, last, low);
                self.find(arrival.now, paths, (low, likely), original, sealed)?
            }
        };
        (self.in_doubt, self.latest) = (number != first, arrival.now);
        if let Some(copy) = copy.filter(|_| self.numbers.need_paths()) {
            self.copy = copy;
        }
        if let Some(path) = arrival.path.filter(|_| self.numbers.need_paths()) {
            let lag = self.numbers.lag(arrival.now, number, number == first);
            paths.learn(path, lag, (self.epoch, number));
        }
        self.numbers.take(arrival.now, number);
        Ok(HEADROOM..HEADROOM + content)
    }

    /// Tries one number after another until the record opens, each on the `original` bytes: what
    /// else is likely but the first, which was tried, then what else ends with `low`. Those that
    /// were taken already are not tried. Gives the number, and how long the content is.
    fn find(
        &mut self,
        now: Time,
        paths: &mut Paths,
        (low, likely): (u16, Likely),
        original: &[u8],
        sealed: &mut [u8],
    ) -> Result<(u64, usize), OpenError> {
        let mut error = OpenError::Forged;
        for (n, number) in likely.into_iter().flatten().enumerate() {
            if !self.numbers.is_fresh(number) {
                error = OpenError::Replayed;
            } else if n > 0 {
                sealed.copy_from_slice(original);
                if let Some(content) = self.decrypt(number, sealed)? {
                    return Ok((number, content));
                }
            }
        }
        for number in self.numbers.others(low) {
            if likely.contains(&Some(number)) || !self.numbers.is_fresh(number) {
                continue;
            }
            if !paths.may_search(now) {
                break;
            }
            sealed.copy_from_slice(original);
            if let Some(content) = self.decrypt(number, sealed)? {
                return Ok((number, content));
            }
        }
        Err(error)
    }

    /// Decrypts ciphertext and tag where they are. Gives how long the content is, if the record is
    /// authentic with this number.
    fn decrypt(&mut self, number: u64, sealed: &mut [u8]) -> Result<Option<usize>, OpenError> {
        let header = layout::header(self.epoch, number);
        if !self.cipher.open(nonce(self.iv, number), header, sealed) {
            self.failed += 1;
            return Ok(None);
        }
        let inner = sealed.get(..sealed.len().saturating_sub(TAG_LEN)).unwrap_or_default();
        // Zeros behind the type are padding (RFC 8446 section 5.4).
        let end = inner.iter().rposition(|byte| *byte != 0);
        let content = end.filter(|end| inner.get(*end) == Some(&layout::APPLICATION_DATA));
        content.map(Some).ok_or(OpenError::Malformed)
    }

    /// Whether nothing may be opened with it any more.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.failed >= self.suite.max_failed()
    }

    /// Whether so many openings failed that other keys are wanted.
    pub(crate) const fn wants_rekey(&self) -> bool {
        self.failed >= self.suite.max_failed() / 2
    }

    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether a record names this epoch by its lowest bits: two that follow each other differ in
    /// them.
    pub(crate) const fn is_named_by(&self, record: &Record) -> bool {
        self.epoch as u8 & layout::EPOCH_BITS == record.epoch_bits()
    }

    #[cfg(test)]
    pub(crate) const fn failed_openings(&self) -> u64 {
        self.failed
    }

    /// As if this number had come.
    #[cfg(all(test, any(feature = "ring", feature = "aws-lc-rs")))]
    pub(crate) fn set_taken(&mut self, number: u64) {
        self.numbers.take(Time::ZERO, number);
    }

    /// As if so many openings had failed.
    #[cfg(test)]
    pub(crate) const fn set_failed(&mut self, failed: u64) {
        self.failed = failed;
    }
}
