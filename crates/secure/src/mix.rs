//! Cheap mixing of bits, for what stands for cryptography in simulations. Nothing secret.

/// Spreads each bit over all (the last steps of splitmix64).
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A sum of `bytes`, and of how many they are, that starts from `state`. Each step can be undone,
/// so bytes that differ in one word of eight never have the same sum.
pub(crate) fn absorb(state: u64, bytes: &[u8]) -> u64 {
    let step = |lane: u64, word: &[u8; 8]| {
        (lane ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    // Four lanes, since each step waits for the one before it.
    let mut lanes = [state, !state, state.rotate_left(17), state.rotate_left(41)];
    let (words, rest) = bytes.as_chunks::<8>();
    let (groups, words) = words.as_chunks::<4>();
    for group in groups {
        for (lane, word) in lanes.iter_mut().zip(group) {
            *lane = step(*lane, word);
        }
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    for (lane, word) in lanes.iter_mut().zip(words.iter().chain([&last])) {
        *lane = step(*lane, word);
    }
    let sum = mix(bytes.len() as u64 ^ state);
    lanes.iter().fold(sum, |sum, lane| mix(sum ^ lane))
}

/// Bytes that look random, as many as `out` has, from a state.
pub(crate) fn squeeze(state: u64, out: &mut [u8]) {
    for (n, chunk) in out.chunks_mut(8).enumerate() {
        let word = mix(state.wrapping_add((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        for (to, from) in chunk.iter_mut().zip(word.to_le_bytes()) {
            *to = from;
        }
    }
}
