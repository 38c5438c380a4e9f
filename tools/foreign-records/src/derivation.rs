//! What a connection derives: HKDF-Expand-Label (RFC 9147 section 5.9), seen at its HMAC.

use std::sync::Mutex;

use dimpl::CryptoError;
use dimpl::crypto::{HashAlgorithm, HmacProvider};

/// One expansion.
struct Expansion {
    secret: Vec<u8>,
    label: String,
    output: Vec<u8>,
}

/// Passes everything on, and remembers expansions.
pub(crate) struct Derivation {
    inner: &'static dyn HmacProvider,
    seen: Mutex<Vec<Expansion>>,
}

impl std::fmt::Debug for Derivation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Derivation")
    }
}

impl Derivation {
    /// Lives as long as the program, as dimpl wants it.
    pub(crate) fn of(inner: &'static dyn HmacProvider) -> &'static Self {
        Box::leak(Box::new(Self { inner, seen: Mutex::default() }))
    }

    /// What came last of this label.
    pub(crate) fn last(&self, label: &str) -> Option<Vec<u8>> {
        let seen = self.seen.lock().ok()?;
        seen.iter().rev().find(|one| one.label == label).map(|one| one.output.clone())
    }

    /// What came of this secret.
    pub(crate) fn of_secret(&self, secret: &[u8], label: &str) -> Option<Vec<u8>> {
        let seen = self.seen.lock().ok()?;
        let found = seen.iter().rev().find(|one| one.secret == secret && one.label == label);
        found.map(|one| one.output.clone())
    }
}

impl HmacProvider for Derivation {
    fn hmac(
        &self,
        hash: HashAlgorithm,
        key: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let written = self.inner.hmac(hash, key, data, out)?;
        if let Some((label, len)) = label(data)
            && let Some(output) = out.get(..len.min(written))
        {
            let expansion = Expansion { secret: key.to_vec(), label, output: output.to_vec() };
            self.seen.lock().expect("nobody panics with it").push(expansion);
        }
        Ok(written)
    }
}

/// The label of an expansion, without its prefix, and how much of the output is wanted.
fn label(info: &[u8]) -> Option<(String, usize)> {
    let [high, low, label_len, rest @ ..] = info else { return None };
    let label = rest.get(..usize::from(*label_len))?.strip_prefix(b"dtls13")?;
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    Some((String::from_utf8(label.to_vec()).ok()?, len))
}
