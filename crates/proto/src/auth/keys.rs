//! Shared keys, and the association's keys that follow from them (RFC 4895 section 6.1).

use core::cmp::Ordering;
use core::fmt;

use super::hmac::Keyed;
use super::offer::AuthOffer;
use crate::config::{AuthConfig, AuthKey, HmacAlgorithm};

/// Why a call about keys was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthKeyError {
    /// Authentication is switched off.
    #[error("the association does not authenticate: switch the extension on first")]
    Off,
    /// There is no such key.
    #[error("there is no key with id {id}")]
    Unknown {
        /// The id.
        id: u16,
    },
    /// The key is in use for sending.
    #[error("key {id} is the active one: activate another first")]
    Active {
        /// The id.
        id: u16,
    },
}

/// The two key vectors in the order in which they follow the shared key.
#[derive(Debug)]
pub(super) struct Session(Vec<u8>);

impl Session {
    pub(super) fn new(ours: &AuthOffer, peer: &AuthOffer) -> Self {
        let (a, b) = (ours.vector(), peer.vector());
        let (mut first, second) = if numerically(&a, &b).is_gt() { (b, a) } else { (a, b) };
        first.extend_from_slice(&second);
        Self(first)
    }
}

/// Compares byte strings as numbers; of equal ones the shorter comes first.
fn numerically(a: &[u8], b: &[u8]) -> Ordering {
    let digits = |bytes: &'_ [u8]| bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let (x, y) = (a.get(digits(a)..).unwrap_or(a), b.get(digits(b)..).unwrap_or(b));
    x.len().cmp(&y.len()).then_with(|| x.cmp(y)).then_with(|| a.len().cmp(&b.len()))
}

/// The shared keys of an association.
#[derive(Debug)]
pub(crate) struct KeyStore {
    keys: Vec<Key>,
    active: u16,
}

struct Key {
    shared: AuthKey,
    /// Not used for sending any more.
    retired: bool,
    /// Made when first needed, for either algorithm.
    sha1: Option<Keyed>,
    sha256: Option<Keyed>,
}

impl Key {
    const fn new(shared: AuthKey) -> Self {
        Self { shared, retired: false, sha1: None, sha256: None }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

impl KeyStore {
    pub(super) fn new(config: &AuthConfig) -> Self {
        let mut keys: Vec<Key> = config.keys.iter().cloned().map(Key::new).collect();
        if keys.is_empty() {
            keys.push(Key::new(AuthKey { id: 0, secret: Vec::new() }));
        }
        let known = |k: &&Key| k.shared.id == config.active;
        let active = keys.iter().find(known).or(keys.first()).map_or(0, |k| k.shared.id);
        Self { keys, active }
    }

    pub(super) const fn active(&self) -> u16 {
        self.active
    }

    /// Adds a key, or replaces the one with that id.
    pub(crate) fn set(&mut self, key: AuthKey) {
        self.keys.retain(|k| k.shared.id != key.id);
        self.keys.push(Key::new(key));
    }

    /// Chunks are sent with this key from now on.
    pub(crate) fn activate(&mut self, id: u16) -> Result<(), AuthKeyError> {
        match self.keys.iter().find(|k| k.shared.id == id && !k.retired) {
            Some(_) => self.active = id,
            None => return Err(AuthKeyError::Unknown { id }),
        }
        Ok(())
    }

    /// Nothing will be sent with this key any more; what the peer sends with it is still good.
    pub(crate) fn deactivate(&mut self, id: u16) -> Result<(), AuthKeyError> {
        if self.active == id {
            return Err(AuthKeyError::Active { id });
        }
        let key = self.keys.iter_mut().find(|k| k.shared.id == id);
        key.ok_or(AuthKeyError::Unknown { id })?.retired = true;
        Ok(())
    }

    /// Forgets a key: nothing that was made with it is good any more.
    pub(crate) fn delete(&mut self, id: u16) -> Result<(), AuthKeyError> {
        if self.active == id {
            return Err(AuthKeyError::Active { id });
        }
        let before = self.keys.len();
        self.keys.retain(|k| k.shared.id != id);
        if self.keys.len() == before { Err(AuthKeyError::Unknown { id }) } else { Ok(()) }
    }

    /// The association's keys are others now.
    pub(super) fn forget_sessions(&mut self) {
        for key in &mut self.keys {
            (key.sha1, key.sha256) = (None, None);
        }
    }

    /// An HMAC keyed with the association's shared key that follows from shared key `id`.
    pub(super) fn keyed(
        &mut self,
        id: u16,
        algorithm: HmacAlgorithm,
        session: &Session,
    ) -> Option<Keyed> {
        let key = self.keys.iter_mut().find(|k| k.shared.id == id)?;
        let made = match algorithm {
            HmacAlgorithm::Sha1 => &mut key.sha1,
            HmacAlgorithm::Sha256 => &mut key.sha256,
        };
        let keyed = made.get_or_insert_with(|| {
            let mut bytes = key.shared.secret.clone();
            bytes.extend_from_slice(&session.0);
            Keyed::new(algorithm, &bytes)
        });
        Some(keyed.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_ordered_as_numbers_and_then_by_length() {
        let less: [(&[u8], &[u8]); 5] =
            [(&[1], &[2]), (&[9], &[1, 0]), (&[0, 9], &[1, 0]), (&[5], &[0, 5]), (&[], &[0])];
        for (a, b) in less {
            assert_eq!(numerically(a, b), Ordering::Less, "{a:?} {b:?}");
            assert_eq!(numerically(b, a), Ordering::Greater, "{b:?} {a:?}");
        }
        assert_eq!(numerically(&[0, 1], &[0, 1]), Ordering::Equal);
    }

    #[test]
    fn without_keys_there_is_the_empty_one_until_it_is_deleted() {
        let mut keys = KeyStore::new(&AuthConfig::default());
        assert_eq!(keys.active(), 0);
        assert_eq!(keys.delete(0), Err(AuthKeyError::Active { id: 0 }));
        keys.set(AuthKey { id: 7, secret: b"x".to_vec() });
        assert_eq!(keys.activate(8), Err(AuthKeyError::Unknown { id: 8 }));
        assert_eq!(keys.activate(7), Ok(()));
        assert_eq!(keys.deactivate(7), Err(AuthKeyError::Active { id: 7 }));
        assert_eq!(keys.deactivate(0), Ok(()));
        assert_eq!(keys.activate(0), Err(AuthKeyError::Unknown { id: 0 }));
        assert_eq!(keys.delete(0), Ok(()));
        assert_eq!(keys.delete(0), Err(AuthKeyError::Unknown { id: 0 }));
    }

    #[test]
    fn configured_keys_leave_no_empty_one_and_no_secret_is_printed() {
        let key = AuthKey { id: 3, secret: b"hidden".to_vec() };
        let config = AuthConfig { keys: vec![key.clone()], ..AuthConfig::default() };
        let keys = KeyStore::new(&config);
        assert_eq!((keys.active(), keys.keys.len()), (3, 1));
        let shown = format!("{key:?} {keys:?}");
        assert!(!shown.contains("hidden") && !shown.contains("104"), "{shown}");
    }
}
