//! A public key in 55 characters.

use core::fmt;
use core::str::FromStr;

use data_encoding::BASE32_NOPAD;

use super::text::shown;
use crate::exchange::library::digest;

/// What fingerprints begin with.
const PREFIX: &str = "pp:";

/// The SHA-256 of a public key (its SubjectPublicKeyInfo, DER). Printed as `pp:` and base32
/// (RFC 4648 section 6) in lower case, without padding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of a SubjectPublicKeyInfo (DER).
    #[must_use]
    pub fn of(spki: &[u8]) -> Self {
        let mut hash = [0; 32];
        for (to, from) in hash.iter_mut().zip(digest::digest(&digest::SHA256, spki).as_ref()) {
            *to = *from;
        }
        Self(hash)
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Fingerprint {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = BASE32_NOPAD.encode(&self.0).to_ascii_lowercase();
        f.pad(&format!("{PREFIX}{digits}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fingerprint `{text}`: {why}; allowed: `pp:` and 52 characters of a-z and 2-7")]
pub struct FingerprintError {
    text: String,
    why: &'static str,
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    /// Upper case is taken, too: some read aloud, some scan.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |why| FingerprintError { text: shown(text), why };
        let digits = text
            .split_at_checked(PREFIX.len())
            .filter(|(prefix, _)| prefix.eq_ignore_ascii_case(PREFIX))
            .map(|(_, digits)| digits)
            .ok_or_else(|| error("does not begin with `pp:`"))?;
        match digits.len() {
            0..52 => return Err(error("too short")),
            52 => {}
            _ => return Err(error("too long")),
        }
        let bytes = BASE32_NOPAD
            .decode(digits.to_ascii_uppercase().as_bytes())
            .map_err(|_| error("has a character, or an end, that none has"))?;
        <[u8; 32]>::try_from(bytes).map(Self).map_err(|_| error("has the wrong length"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fingerprint_of_known_bytes_is_known() {
        // printf abc | sha256sum | xxd -r -p | base32
        let fingerprint = Fingerprint::of(b"abc");
        assert_eq!(
            fingerprint.to_string(),
            "pp:xj4bnp4pahh6uqkbidpf3lrceoyagyndsylxvhfucd7wd4qacwwq"
        );
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        assert_eq!(fingerprint.to_string().to_uppercase().parse(), Ok(fingerprint));
    }

    #[test]
    fn an_error_says_what_is_wrong_and_what_is_allowed() {
        let good = Fingerprint::of(b"abc").to_string();
        for (text, why) in [
            (String::new(), "does not begin"),
            ("xx:abc".to_owned(), "does not begin"),
            ("päp:abc".to_owned(), "does not begin"),
            (good[..54].to_owned(), "too short"),
            (format!("{good}a"), "too long"),
            (good.replace("xj4", "xj1"), "has a character"),
            // The last character has bits that no hash fills.
            (format!("{}r", &good[..54]), "has a character"),
            (format!(" {good}"), "does not begin"),
        ] {
            let error = text.parse::<Fingerprint>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(error.contains("52 characters of a-z and 2-7"), "{error}");
        }
        let error = "pp:\u{1b}[2J".parse::<Fingerprint>().unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn what_is_printed_parses(hash: [u8; 32]) {
            let fingerprint = Fingerprint::from(hash);
            prop_assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        }

        #[test]
        fn no_text_panics_and_what_parses_prints_the_same(text in "(pp:)?\\PC{0,60}|pp:[a-z2-7]{52}") {
            if let Ok(fingerprint) = text.parse::<Fingerprint>() {
                prop_assert_eq!(fingerprint.to_string(), text.to_lowercase());
            }
        }
    }
}
