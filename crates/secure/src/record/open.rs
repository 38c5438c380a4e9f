//! Opening: the keys of one epoch, and the numbers that were taken.

use polypath_proto::PathId;
use polypath_proto::protection::OpenError;
use polypath_proto::time::Time;

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
}

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
        Some(Self { cipher, iv: keys.iv, suite, epoch, numbers: Numbers::default(), failed: 0 })
    }

    /// Opens a record of this epoch and appends what is in it to `out`, which is as it was on an
    /// error.
    pub(crate) fn open(
        &mut self,
        arrival: Arrival,
        paths: &mut Paths,
        record: &Record<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), OpenError> {
        if self.is_exhausted() {
            return Err(OpenError::NoKey);
        }
        let mask = self.cipher.mask(record.sample).ok_or(OpenError::Malformed)?;
        let low = record.number(mask);
        let Known { lag, last } = paths.known(arrival.path);
        let last = last.filter(|(epoch, _)| *epoch == self.epoch).map(|(_, number)| number);
        let first = self.numbers.likeliest(arrival.now, lag, last, low);
        let number = if self.numbers.is_fresh(first) && self.decrypt(first, record, out)? {
            first
        } else {
            let likely = self.numbers.likely(arrival.now, lag, last, low);
            self.find(arrival.now, paths, record, (low, likely), out)?
        };
        if let Some(path) = arrival.path.filter(|_| self.numbers.need_paths()) {
            let lag = self.numbers.lag(arrival.now, number, number == first);
            paths.learn(path, lag, (self.epoch, number));
        }
        self.numbers.take(arrival.now, number);
        Ok(())
    }

    /// Tries one number after another until the record opens: what else is likely but the first,
    /// which was tried, then what else ends with `low`. Those that were taken already are not
    /// tried.
    fn find(
        &mut self,
        now: Time,
        paths: &mut Paths,
        record: &Record<'_>,
        (low, likely): (u16, Likely),
        out: &mut Vec<u8>,
    ) -> Result<u64, OpenError> {
        let mut error = OpenError::Forged;
        for (n, number) in likely.into_iter().flatten().enumerate() {
            if !self.numbers.is_fresh(number) {
                error = OpenError::Replayed;
            } else if n > 0 && self.decrypt(number, record, out)? {
                return Ok(number);
            }
        }
        for number in self.numbers.others(low) {
            if likely.contains(&Some(number)) || !self.numbers.is_fresh(number) {
                continue;
            }
            if !paths.may_search(now) {
                break;
            }
            if self.decrypt(number, record, out)? {
                return Ok(number);
            }
        }
        Err(error)
    }

    /// Whether the record is authentic with this number; then its content was appended to `out`.
    fn decrypt(
        &mut self,
        number: u64,
        record: &Record<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, OpenError> {
        let start = out.len();
        out.extend_from_slice(record.sealed);
        let header = layout::header(self.epoch, number);
        let copy = out.get_mut(start..).unwrap_or_default();
        if !self.cipher.open(nonce(self.iv, number), header, copy) {
            out.truncate(start);
            self.failed += 1;
            return Ok(false);
        }
        let inner = copy.get(..copy.len().saturating_sub(TAG_LEN)).unwrap_or_default();
        // Zeros behind the type are padding (RFC 8446 section 5.4).
        let end = inner.iter().rposition(|byte| *byte != 0);
        match end.filter(|end| inner.get(*end) == Some(&layout::APPLICATION_DATA)) {
            Some(end) => {
                out.truncate(start + end);
                Ok(true)
            }
            None => {
                out.truncate(start);
                Err(OpenError::Malformed)
            }
        }
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
    pub(crate) const fn is_named_by(&self, record: &Record<'_>) -> bool {
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
