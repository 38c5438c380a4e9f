//! Keys that were agreed on elsewhere and never change.

use core::ops::Range;

use bytes::Bytes;
use polypath_proto::PathId;
use polypath_proto::protection::{OpenError, Protection, ProtectionEvent, ProtectionStats};
use polypath_proto::time::{Duration, Time};

use super::Keyring;
use crate::aead::{IV_LEN, KeyMaterial, Suite};
use crate::policy::RekeyPolicy;

/// The keys of one direction, as DTLS 1.3 has them (RFC 9147 sections 4.2.3 and 5.3).
#[derive(Clone, Copy)]
pub struct RecordKeys<'a> {
    /// For content.
    pub key: &'a [u8],
    /// For numbers.
    pub number_key: &'a [u8],
    /// Initialization vector.
    pub iv: [u8; IV_LEN],
}

impl core::fmt::Debug for RecordKeys<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("RecordKeys(..)")
    }
}

impl RecordKeys<'_> {
    fn material(self) -> KeyMaterial {
        let Self { key, number_key, iv } = self;
        KeyMaterial { key: key.to_vec(), number_key: number_key.to_vec(), iv }
    }
}

/// Protection with keys that were agreed on elsewhere: for tests against other implementations.
/// Nothing replaces them. Whoever uses them for two associations gives all of their content away,
/// since both use the same nonces.
#[derive(Debug)]
pub struct FixedKeys {
    keys: Keyring,
}

impl FixedKeys {
    /// Keys to seal and to open with, and their epoch. `None` if they have not the lengths that the
    /// suite asks for.
    #[must_use]
    pub fn new(
        now: Time,
        suite: Suite,
        epoch: u64,
        write: RecordKeys<'_>,
        read: RecordKeys<'_>,
    ) -> Option<Self> {
        let never = RekeyPolicy { packets: u64::MAX, bytes: u64::MAX, age: Duration::MAX };
        let mut keys = Keyring::new(never);
        let installed = keys.install_write(now, epoch, suite, &write.material())
            && keys.install_read(epoch, suite, &read.material());
        installed.then_some(Self { keys })
    }
}

impl Protection for FixedKeys {
    fn handle_message(&mut self, _: Time, _: Duration, _: &[u8], _: bool) {}

    fn poll_message(&mut self) -> Option<Bytes> {
        None
    }

    fn poll_event(&mut self) -> Option<ProtectionEvent> {
        None
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn handle_timeout(&mut self, _: Time, _: Duration) {}

    fn seals(&self) -> bool {
        true
    }

    fn is_enforced(&self) -> bool {
        true
    }

    fn seal(&mut self, now: Time, packet: &mut Vec<u8>, at: usize) -> bool {
        self.keys.seal(now, packet, at)
    }

    fn open(
        &mut self,
        now: Time,
        path: Option<PathId>,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        self.keys.open(now, path, chunk)
    }

    fn open_own(&self, chunk: &[u8], out: &mut Vec<u8>) -> bool {
        self.keys.open_own(chunk, out)
    }

    fn forget_path(&mut self, path: PathId) {
        self.keys.forget_path(path);
    }

    fn peer(&self) -> Option<&[u8]> {
        None
    }

    fn stats(&self) -> ProtectionStats {
        self.keys.stats()
    }
}
