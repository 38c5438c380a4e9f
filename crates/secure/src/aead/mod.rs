//! The cipher of one direction, behind a trait as small as records need it.

mod direction;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod real;
mod stand_in;
mod suite;

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub(crate) use direction::library;
pub(crate) use direction::{Cipher, Header, Nonce, SAMPLE_LEN, TAG_LEN};
pub use suite::Suite;
pub(crate) use suite::{IV_LEN, KeyMaterial};

/// The cipher of a direction; `None` if a key has not the length that the suite asks for, or nobody
/// was built in who knows the suite.
pub(crate) fn cipher(suite: Suite, keys: &KeyMaterial) -> Option<Box<dyn Cipher>> {
    match suite {
        Suite::StandIn => Some(Box::new(stand_in::StandInCipher::new(keys)?)),
        #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
        _ => Some(Box::new(real::RealCipher::new(suite, keys)?)),
        #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites() -> Vec<Suite> {
        let all =
            [Suite::StandIn, Suite::Aes128Gcm, Suite::Aes256Gcm, Suite::ChaCha20Poly1305].to_vec();
        let real = cfg!(any(feature = "ring", feature = "aws-lc-rs"));
        all.into_iter().filter(|suite| real || *suite == Suite::StandIn).collect()
    }

    fn keys(suite: Suite) -> KeyMaterial {
        let bytes: Vec<u8> = (1..=suite.key_len()).map(|n| n as u8).collect();
        KeyMaterial { key: bytes.clone(), number_key: bytes, iv: [7; IV_LEN] }
    }

    #[test]
    fn what_is_sealed_opens_and_what_was_changed_does_not() {
        for suite in suites() {
            let cipher = cipher(suite, &keys(suite)).unwrap();
            let (nonce, header) = ([3; IV_LEN], [0x2f, 1, 2]);
            for len in [1, 7, 8, 31, 32, 33, 100] {
                let content: Vec<u8> = (0..len).collect();
                let mut record = content.clone();
                let tag = cipher.seal(nonce, header, &mut record).unwrap();
                record.extend_from_slice(&tag);
                let mut opened = record.clone();
                assert!(cipher.open(nonce, header, &mut opened), "{suite:?} {len}");
                assert_eq!(opened[..content.len()], content);
                for at in 0..record.len() {
                    for bit in 0..8 {
                        let mut changed = record.clone();
                        changed[at] ^= 1 << bit;
                        assert!(!cipher.open(nonce, header, &mut changed), "{suite:?} {at} {bit}");
                    }
                }
                for at in 0..header.len() {
                    let mut other = header;
                    other[at] ^= 0x80;
                    assert!(!cipher.open(nonce, other, &mut record.clone()));
                }
                let mut other = nonce;
                other[IV_LEN - 1] ^= 1;
                assert!(!cipher.open(other, header, &mut record.clone()));
            }
        }
    }

    #[test]
    fn keys_of_another_length_are_refused() {
        for suite in suites() {
            let mut short = keys(suite);
            short.key.pop();
            assert!(cipher(suite, &short).is_none(), "{suite:?}");
            let mut long = keys(suite);
            long.number_key.push(0);
            assert!(cipher(suite, &long).is_none(), "{suite:?}");
        }
    }

    #[test]
    fn too_little_for_a_tag_does_not_open() {
        for suite in suites() {
            let cipher = cipher(suite, &keys(suite)).unwrap();
            for len in 0..TAG_LEN {
                assert!(!cipher.open([0; IV_LEN], [0; 3], &mut vec![0; len]), "{suite:?} {len}");
            }
        }
    }
}
