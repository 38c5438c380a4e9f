//! The secrets that sign cookies.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::rng::Rng;
use crate::time::{Duration, Time};

/// Bytes of a cookie's MAC: HMAC-SHA-256 cut to its half (RFC 2104 section 5), because the cookie is most of an INIT ACK.
pub(crate) const MAC_LEN: usize = 16;

/// A whole block of SHA-256, so that HMAC uses it as it is.
type Key = [u8; 64];

/// The present secret and the one before it.
#[derive(Clone, Debug)]
pub(crate) struct CookieKeys {
    current: Key,
    previous: Option<Key>,
    /// When `current` was made.
    since: Time,
    /// Age at which a key is replaced.
    life: Duration,
    /// How long the previous key goes on being accepted.
    grace: Duration,
    rng: Rng,
}

impl CookieKeys {
    pub(crate) fn new(life: Duration, grace: Duration, mut rng: Rng) -> Self {
        let current = new_key(&mut rng);
        Self { current, previous: None, since: Time::ZERO, life, grace, rng }
    }

    /// The MAC of the concatenated `parts`.
    pub(crate) fn sign(&mut self, now: Time, parts: [&[u8]; 2]) -> [u8; MAC_LEN] {
        self.rotate(now);
        let full: [u8; 32] = mac(&self.current, parts).finalize().into_bytes().into();
        full.first_chunk().copied().unwrap_or_default()
    }

    /// Whether `tag` is the MAC of `parts` by the present secret or the one before it. Takes the same time wherever they
    /// differ.
    pub(crate) fn verify(&mut self, now: Time, parts: [&[u8]; 2], tag: &[u8; MAC_LEN]) -> bool {
        self.rotate(now);
        let matches = |key: &Key| mac(key, parts).verify_truncated_left(tag).is_ok();
        matches(&self.current) || self.previous.as_ref().is_some_and(matches)
    }

    fn rotate(&mut self, now: Time) {
        let age = now.since(self.since);
        if age >= self.life {
            // A key that should have been replaced long ago has no cookies left that could still live.
            let recent = age < self.life.saturating_add(self.grace);
            self.previous = recent.then_some(self.current);
            self.current = new_key(&mut self.rng);
            self.since = now;
        } else if age > self.grace {
            self.previous = None;
        }
    }
}

fn new_key(rng: &mut Rng) -> Key {
    let mut key = [0; 64];
    let (low, high) = key.split_at_mut(32);
    low.copy_from_slice(&rng.bytes32());
    high.copy_from_slice(&rng.bytes32());
    key
}

fn mac(key: &Key, parts: [&[u8]; 2]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new(key.into());
    parts.into_iter().for_each(|part| mac.update(part));
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> CookieKeys {
        CookieKeys::new(Duration::from_secs(100), Duration::from_secs(60), Rng::from_u64(1))
    }

    #[test]
    fn the_previous_key_is_accepted_while_its_cookies_live() {
        let mut keys = keys();
        let parts: [&[u8]; 2] = [b"ab", b"c"];
        let tag = keys.sign(Time::from_secs(99), parts);
        assert!(keys.verify(Time::from_secs(99), parts, &tag));
        assert!(keys.verify(Time::from_secs(100), parts, &tag));
        assert!(keys.verify(Time::from_secs(160), parts, &tag));
        assert!(!keys.verify(Time::from_secs(161), parts, &tag));
        assert_ne!(keys.sign(Time::from_secs(161), parts), tag);
    }

    #[test]
    fn a_key_that_slept_too_long_is_gone() {
        let mut keys = keys();
        let tag = keys.sign(Time::ZERO, [b"x", b""]);
        assert!(!keys.verify(Time::from_secs(160), [b"x", b""], &tag));
    }

    #[test]
    fn other_bytes_and_other_tags_fail() {
        let mut keys = keys();
        let mut tag = keys.sign(Time::ZERO, [b"x", b"y"]);
        assert!(!keys.verify(Time::ZERO, [b"x", b"z"], &tag));
        tag[MAC_LEN - 1] ^= 1;
        assert!(!keys.verify(Time::ZERO, [b"x", b"y"], &tag));
    }
}
