//! One-time codes: how two ends meet that know nothing of each other but what somebody carries
//! over.

use core::fmt;
use core::str::FromStr;

use data_encoding::BASE32_NOPAD;
use zeroize::{Zeroize, Zeroizing};

use super::key::{Identity, IdentityError};
use crate::exchange::library::{digest, fill_random, hkdf};

const PREFIX: &str = "pp-code:";
/// Both are part of what a code means: other texts make other keys.
const SALT: &[u8] = b"polypath enrolment";
const INFO: &[u8] = b"ed25519 seed";
const CHECK: &[u8] = b"polypath enrolment check";

/// A code of 128 random bits. Both ends that know it derive the same key pair of it; each has that
/// pair as its identity in their first association, and lets in nobody else. TLS would have shared
/// secrets for this, but rustls has none. Codes are never chosen by people: who sees an exchange
/// could try all that people choose.
///
/// Printed as `pp-code:` and seven groups of four, the last byte of which tells a slip from a code
/// that is not known. What it prints is a secret.
#[derive(Clone)]
pub struct Enrolment([u8; 16]);

impl Enrolment {
    /// A new one, of the system's random numbers.
    ///
    /// # Errors
    /// If the system has none.
    pub fn generate() -> Result<Self, IdentityError> {
        let mut code = Self([0; 16]);
        fill_random(&mut code.0).ok_or(IdentityError::NoRandomness)?;
        Ok(code)
    }

    /// The key pair of this code: HKDF-SHA256 (RFC 5869) gives its seed.
    ///
    /// # Errors
    /// If the library makes none of it: never with those that are used.
    pub fn identity(&self) -> Result<Identity, IdentityError> {
        let error = IdentityError::NotAKey("none comes of the code");
        let mut seed = Zeroizing::new([0; 32]);
        hkdf::Salt::new(hkdf::HKDF_SHA256, SALT)
            .extract(&self.0)
            .expand(&[INFO], hkdf::HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut *seed))
            .map_err(|_| error)?;
        Identity::from_seed(&seed)
    }

    fn check(&self) -> u8 {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(CHECK);
        context.update(&self.0);
        context.finish().as_ref().first().copied().unwrap_or(0)
    }
}

impl Drop for Enrolment {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Enrolment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Enrolment(..)")
    }
}

impl fmt::Display for Enrolment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Zeroizing::new(self.0.to_vec());
        bytes.push(self.check());
        let digits = Zeroizing::new(BASE32_NOPAD.encode(&bytes).to_ascii_lowercase());
        f.write_str(PREFIX)?;
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && index.is_multiple_of(4) {
                f.write_str("-")?;
            }
            fmt::Write::write_char(f, digit)?;
        }
        Ok(())
    }
}

/// A text is not a code. The text is not in the error: it may be one, with a slip.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "enrolment code: {0}; allowed: `pp-code:` and 28 characters of a-z and 2-7, with or without `-`"
)]
pub struct CodeError(&'static str);

impl FromStr for Enrolment {
    type Err = CodeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text
            .split_at_checked(PREFIX.len())
            .filter(|(prefix, _)| prefix.eq_ignore_ascii_case(PREFIX))
            .map(|(_, digits)| digits)
            .ok_or(CodeError("does not begin with `pp-code:`"))?;
        if digits.len() > 64 {
            return Err(CodeError("too long"));
        }
        let mut digits = Zeroizing::new(digits.to_ascii_uppercase());
        digits.retain(|digit| digit != '-');
        if digits.len() != 28 {
            return Err(CodeError("has another length"));
        }
        let bytes = BASE32_NOPAD
            .decode(digits.as_bytes())
            .map(Zeroizing::new)
            .map_err(|_| CodeError("has a character that none has"))?;
        let (code, check) =
            bytes.split_first_chunk::<16>().ok_or(CodeError("has another length"))?;
        let code = Self(*code);
        if *check != [code.check()] {
            return Err(CodeError("has a slip in it"));
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_known_code_gives_a_known_key() {
        let code = Enrolment([7; 16]);
        let text = code.to_string();
        assert_eq!(text.len(), PREFIX.len() + 34);
        assert_eq!(text, "pp-code:a4dq-obyh-a4dq-obyh-a4dq-obyh-a76a");
        // Fixed for ever: both ends may have another version of this program. Computed apart, with
        // Python's hmac and `openssl pkey -pubout`.
        assert_eq!(
            code.identity().unwrap().public().fingerprint().to_string(),
            "pp:ua2fmxnpfgectgvywqlrkfsnqmo6ixmudnu4np3x3uqrcj3ppytq"
        );
    }

    #[test]
    fn both_ends_derive_the_same_pair_and_other_codes_another() {
        let code = Enrolment::generate().unwrap();
        let typed = code.to_string().to_uppercase();
        let typed: Enrolment = typed.replacen("PP-CODE", "pp-code", 1).parse().unwrap();
        let bare = code.to_string()[PREFIX.len()..].replace('-', "");
        let bare: Enrolment = format!("{PREFIX}{bare}").parse().unwrap();
        assert_eq!(bare.0, typed.0);
        let key = code.identity().unwrap();
        assert_eq!(typed.identity().unwrap().public(), key.public());
        let other = Enrolment::generate().unwrap();
        assert_ne!(other.identity().unwrap().public(), key.public());
        assert_eq!(format!("{code:?}"), "Enrolment(..)");
    }

    #[test]
    fn a_slip_is_told() {
        let text = Enrolment([7; 16]).to_string();
        for wrong in [
            text.replace("pp-code", "code"),
            text.replacen("a4dq", "a4dr", 1),
            text.replacen("a4dq", "a4d1", 1),
            text[..text.len() - 1].to_owned(),
            format!("{text}a"),
            format!("{text}{}", "-".repeat(80)),
        ] {
            let error = wrong.parse::<Enrolment>().unwrap_err().to_string();
            assert!(error.contains("28 characters"), "{error}");
            assert!(!error.contains("a4dq"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn codes_survive_and_no_text_panics(code: [u8; 16], text in "(pp-code:)?\\PC{0,40}") {
            let printed = Enrolment(code).to_string();
            prop_assert_eq!(printed.parse::<Enrolment>().unwrap().0, code);
            let _ = text.parse::<Enrolment>();
        }
    }
}
