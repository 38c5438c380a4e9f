//! The keys that an association has at a moment: one epoch to seal with, one or two to open with.

use core::ops::Range;

use polypath_proto::PathId;
use polypath_proto::protection::{OpenError, ProtectionStats};
use polypath_proto::time::{Duration, Time};

use crate::aead::{KeyMaterial, Suite};
use crate::policy::RekeyPolicy;
use crate::record::{Arrival, Opener, Paths, Record, Sealer};

/// The keys of an association.
#[derive(Debug)]
pub(crate) struct Keyring {
    policy: RekeyPolicy,
    write: Option<Sealer>,
    /// The newest epoch.
    read: Option<Opener>,
    /// The one before it, until [`Drain`] lets it go.
    old: Option<Opener>,
    drain: Drain,
    paths: Paths,
    /// When other keys are wanted.
    due: Time,
    stats: ProtectionStats,
}

/// How long the old epoch's packets are still opened: two retransmission timeouts from the first
/// packet of the new epoch on, by when what was under way has come or was sent again. The draft
/// wants 120 s at least. But only two epochs may live, a key bears 2^24 packets, and those are sent
/// in 19 s at 10 Gbit/s: keys would be used up before they could be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drain {
    /// Nothing came yet with the new keys, or the old ones have gone.
    Waiting,
    /// The first packet has come; the timeout will be told.
    Since(Time),
    /// The old keys go then.
    Until(Time),
}

impl Keyring {
    pub(crate) fn new(policy: RekeyPolicy) -> Self {
        Self {
            policy,
            write: None,
            read: None,
            old: None,
            drain: Drain::Waiting,
            paths: Paths::default(),
            due: Time::MAX,
            stats: ProtectionStats::default(),
        }
    }

    /// The newest epoch that there are keys of.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.read.as_ref().map(Opener::epoch)
    }

    /// Packets of this epoch are opened from now on, too; no more those of the epoch before the
    /// last. False if the keys are not the suite's.
    pub(crate) fn install_read(&mut self, epoch: u64, suite: Suite, keys: &KeyMaterial) -> bool {
        let opener = Opener::new(epoch, suite, keys);
        let installed = opener.is_some();
        if let Some(opener) = opener {
            self.install_opener(opener);
        }
        installed
    }

    pub(crate) fn install_opener(&mut self, opener: Opener) {
        self.old = self.read.replace(opener);
        self.drain = Drain::Waiting;
    }

    /// The keys of this epoch, the newest, will not be used after all. No effect if those before
    /// have gone: then they are used already.
    pub(crate) fn withdraw_read(&mut self, epoch: u64) {
        let unused = self.drain == Drain::Waiting;
        if self.newest() == Some(epoch) && self.old.is_some() && unused {
            self.read = self.old.take();
            self.drain = Drain::Waiting;
        }
    }

    /// Packets leave with the keys of this epoch from now on. False if they are not the suite's.
    pub(crate) fn install_write(
        &mut self,
        now: Time,
        epoch: u64,
        suite: Suite,
        keys: &KeyMaterial,
    ) -> bool {
        let Some(sealer) = Sealer::new(epoch, suite, keys) else { return false };
        self.stats.rekeys += u64::from(self.write.is_some());
        self.stats.epoch = epoch;
        self.due = now + self.policy.age;
        self.write = Some(sealer);
        true
    }

    pub(crate) const fn seals(&self) -> bool {
        self.write.is_some()
    }

    /// When other keys are wanted, because those that we seal with have become old.
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Whether keys of the epoch before are still there.
    pub(crate) const fn has_old(&self) -> bool {
        self.old.is_some()
    }

    /// Opens what was sealed a moment ago with the keys that are used now.
    pub(crate) fn open_own(&self, chunk: &[u8], out: &mut Vec<u8>) -> bool {
        self.write.as_ref().is_some_and(|write| write.open_own(chunk, out))
    }

    pub(crate) fn seal(&mut self, now: Time, packet: &mut Vec<u8>, at: usize) -> bool {
        let Some(write) = &mut self.write else { return false };
        if !write.seal(packet, at) {
            return false;
        }
        self.stats.sealed += 1;
        if write.sealed() >= self.policy.packets || write.bytes() >= self.policy.bytes {
            self.due = self.due.min(now);
        }
        true
    }

    pub(crate) fn open(
        &mut self,
        now: Time,
        path: Option<PathId>,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        let result = Record::parse(chunk)
            .and_then(|record| self.open_record(Arrival { now, path }, &record, chunk));
        self.count(result.as_ref().err());
        result
    }

    /// Counts what became of a packet.
    pub(crate) const fn count(&mut self, error: Option<&OpenError>) {
        let counter = match error {
            None => &mut self.stats.opened,
            Some(OpenError::Forged) => &mut self.stats.forged,
            Some(OpenError::Replayed) => &mut self.stats.replayed,
            Some(OpenError::NoKey | OpenError::Malformed) => &mut self.stats.unopenable,
        };
        *counter += 1;
    }

    /// Opens a record of one of the epochs that there are keys of.
    pub(crate) fn open_record(
        &mut self,
        arrival: Arrival,
        record: &Record,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        let of = |opener: &&mut Opener| opener.is_named_by(record);
        let newest = self.read.as_mut().filter(of);
        let is_newest = newest.is_some();
        let opener = newest.or_else(|| self.old.as_mut().filter(of)).ok_or(OpenError::NoKey)?;
        let result = opener.open(arrival, &mut self.paths, record, chunk);
        if opener.wants_rekey() {
            self.due = self.due.min(arrival.now);
        }
        if result.is_ok() && is_newest && self.old.is_some() && self.drain == Drain::Waiting {
            self.drain = Drain::Since(arrival.now);
        }
        result
    }

    /// Whether there are keys of the epoch that a record names.
    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    pub(crate) fn has_epoch(&self, record: &Record) -> bool {
        [&self.read, &self.old].into_iter().flatten().any(|opener| opener.is_named_by(record))
    }

    /// The first packet of the newest epoch came.
    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    pub(crate) const fn drain_from(&mut self, now: Time) {
        if self.old.is_some() {
            self.drain = Drain::Since(now);
        }
    }

    /// Opens a record with keys that are not installed yet.
    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    pub(crate) fn open_with(
        &mut self,
        opener: &mut Opener,
        arrival: Arrival,
        record: &Record,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        opener.open(arrival, &mut self.paths, record, chunk)
    }

    /// When [`handle_timeout`](Self::handle_timeout) shall be called.
    pub(crate) const fn next_timeout(&self) -> Time {
        match self.drain {
            Drain::Waiting => Time::MAX,
            Drain::Since(time) | Drain::Until(time) => time,
        }
    }

    /// Lets the old keys go when it is time.
    pub(crate) fn handle_timeout(&mut self, now: Time, rto: Duration) {
        if let Drain::Since(first) = self.drain {
            self.drain = Drain::Until(first + 2 * rto);
        }
        if let Drain::Until(end) = self.drain
            && now >= end
        {
            self.old = None;
            self.drain = Drain::Waiting;
        }
    }

    /// Whether a key is used up for good: nothing more may be sealed with it, or tried to be
    /// opened.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.write.as_ref().is_some_and(Sealer::is_exhausted)
            || self.read.as_ref().is_some_and(Opener::is_exhausted)
    }

    pub(crate) fn forget_path(&mut self, path: PathId) {
        self.paths.forget(path);
    }

    pub(crate) const fn stats(&self) -> ProtectionStats {
        self.stats
    }

    /// As if so many packets had been sealed with the keys that there are.
    #[cfg(test)]
    pub(crate) fn set_sealed(&mut self, sealed: u64) {
        if let Some(write) = &mut self.write {
            write.set_sealed(sealed);
        }
    }

    /// As if so many openings with the newest keys had failed.
    #[cfg(test)]
    pub(crate) fn set_failed(&mut self, failed: u64) {
        if let Some(read) = &mut self.read {
            read.set_failed(failed);
        }
    }
}
