//! The Internet checksum: whole, and after a part of what it covers has changed.

/// The checksum over these bytes (RFC 1071).
pub(super) fn compute_checksum(parts: &[&[u8]]) -> u16 {
    !fold_carries(parts.iter().map(|part| sum_words(part)).sum())
}

/// The checksum after `new` took the place of `old` (RFC 1624, equation 3). Both have an even
/// length and began at an even place.
pub(super) fn adjust_checksum(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    let without = sum_words(old);
    // In ones' complement the complement of a sum is its negative.
    !fold_carries(u64::from(!checksum) + u64::from(!fold_carries(without)) + sum_words(new))
}

/// The sum of 16-bit words; an odd byte at the end counts as the high half of one.
fn sum_words(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| match *pair {
        [high, low] => u64::from(u16::from_be_bytes([high, low])),
        [high] => u64::from(high) << 8,
        _ => 0,
    };
    bytes.chunks(2).map(word).sum()
}

fn fold_carries(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071_comes_out() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(compute_checksum(&[&bytes]), !0xddf2);
    }

    proptest! {
        #[test]
        fn an_adjusted_checksum_is_that_of_the_new_bytes(
            kept: [u8; 8], old: [u8; 6], new: [u8; 6],
        ) {
            // All zeros have a checksum that nothing else has.
            prop_assume!(kept != [0; 8]);
            let before = compute_checksum(&[&kept, &old]);
            prop_assert_eq!(adjust_checksum(before, &old, &new), compute_checksum(&[&kept, &new]));
        }
    }
}
