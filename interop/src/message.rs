//! Messages whose stream, number, length and content follow from one seed; `message.c` computes the
//! same.

use std::str::FromStr;

use bytes::Bytes;

/// What is sent: message k goes to stream k mod `streams` and is number k / `streams` of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What lengths and contents are drawn from.
    pub seed: u64,
    /// How many streams take turns.
    pub streams: u16,
    /// How long messages are.
    pub sizes: Sizes,
}

/// Lengths of messages, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// These, one after the other.
    InTurn(Vec<u32>),
    /// Drawn from this range; every order of magnitude is as likely as every other.
    Range(u32, u32),
}

/// The longest message that a plan may have, bytes.
const LONGEST: u32 = 16 << 20;

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = |word: &str| match word.parse() {
            Ok(size @ 1..=LONGEST) => Ok(size),
            _ => Err(format!("{word:?}: 1 to {LONGEST} bytes are allowed")),
        };
        let Some((least, greatest)) = text.split_once('-') else {
            return text.split(',').map(size).collect::<Result<_, _>>().map(Self::InTurn);
        };
        let (least, greatest) = (size(least)?, size(greatest)?);
        if least > greatest {
            return Err(format!("{text}: the lesser end comes first"));
        }
        Ok(Self::Range(least, greatest))
    }
}

impl Plan {
    /// Length of message `k`, bytes.
    pub fn length(&self, k: u64) -> u32 {
        match &self.sizes {
            Sizes::InTurn(sizes) => sizes[(k % sizes.len() as u64) as usize],
            &Sizes::Range(least, greatest) => {
                let mut state = self.random_state(k);
                let widths = u64::from(greatest.ilog2() - least.ilog2() + 1);
                let floor = 1 << (u64::from(least.ilog2()) + split_mix(&mut state) % widths);
                let length = floor + split_mix(&mut state) % floor;
                (length as u32).clamp(least, greatest)
            }
        }
    }

    /// Content of message `k`.
    pub fn content(&self, k: u64) -> Bytes {
        let length = self.length(k) as usize;
        let mut state = self.random_state(k) ^ length as u64;
        let mut data = Vec::with_capacity(length.next_multiple_of(8));
        while data.len() < length {
            data.extend(split_mix(&mut state).to_le_bytes());
        }
        data.truncate(length);
        data.into()
    }

    /// The stream of message `k` and its number there.
    pub const fn place(&self, k: u64) -> (u16, u32) {
        let streams = self.streams as u64;
        ((k % streams) as u16, (k / streams) as u32)
    }

    fn random_state(&self, k: u64) -> u64 {
        let mut number = k + 1;
        self.seed ^ split_mix(&mut number)
    }
}

/// SplitMix64 (Steele et al. 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sizes: &str) -> Plan {
        Plan { seed: 1, streams: 3, sizes: sizes.parse().unwrap() }
    }

    #[test]
    fn streams_and_sizes_take_turns() {
        let plan = plan("1,100,1452");
        let lengths: Vec<_> = (0..4).map(|k| plan.length(k)).collect();
        assert_eq!(lengths, [1, 100, 1452, 1]);
        assert_eq!([plan.place(0), plan.place(4)], [(0, 0), (1, 1)]);
    }

    #[test]
    fn a_range_covers_orders_of_magnitude_and_stays_inside() {
        let plan = plan("1-1048576");
        let lengths: Vec<_> = (0..2000).map(|k| plan.length(k)).collect();
        assert!(lengths.iter().all(|l| (1..=1 << 20).contains(l)));
        assert!(lengths.iter().filter(|l| **l < 100).count() > 300);
        assert!(lengths.iter().filter(|l| **l > 100_000).count() > 200);
    }

    #[test]
    fn contents_differ_and_are_as_long_as_they_say() {
        let plan = plan("9,17");
        assert_eq!((plan.content(0).len(), plan.content(1).len()), (9, 17));
        assert_ne!(plan.content(0), plan.content(2));
        assert_eq!(plan.content(2), plan.content(2));
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for text in ["", "0", "5-1", "1,", "99999999999", "1-2-3"] {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
    }
}
