//! When keys are replaced.

use polypath_proto::time::Duration;

/// When an end asks for other keys: as soon as one of these is reached by what it sends.
///
/// Beside it, half of the failed openings that a cipher bears (RFC 9147 section 4.5.3) are a
/// reason, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RekeyPolicy {
    /// Packets protected with one key. RFC 9147 allows AES-GCM 2^24.5: what is above the default of
    /// 2^24 is for the time that an exchange takes, 7.7 s at 10 Gbit/s. Whatever is said here, no
    /// more than the cipher bears are protected.
    pub packets: u64,
    /// Bytes of chunks protected with one key. draft-porfiri-tsvwg-sctp-dtls-handshake: at least
    /// each 100 GB.
    pub bytes: u64,
    /// How old a key may be. The same draft: at least each hour.
    pub age: Duration,
}

impl Default for RekeyPolicy {
    fn default() -> Self {
        Self { packets: 1 << 24, bytes: 100_000_000_000, age: Duration::from_secs(3600) }
    }
}
