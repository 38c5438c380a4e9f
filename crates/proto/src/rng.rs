//! Randomness, handed in and seeded: same seed, same bytes.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng as _, SeedableRng as _};

/// A seeded generator. ChaCha12 is value-stable across library versions, so a seed stays a seed.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha12Rng);

impl Rng {
    /// A generator from 32 bytes of seed. On a real host they come from the operating system.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(ChaCha12Rng::from_seed(seed))
    }

    /// A generator from a small number, for simulations and tests.
    pub fn from_u64(seed: u64) -> Self {
        Self(ChaCha12Rng::seed_from_u64(seed))
    }

    /// A new generator that depends on this one's state, so that a part can own its randomness.
    pub fn fork(&mut self) -> Self {
        let mut seed = [0; 32];
        self.0.fill_bytes(&mut seed);
        Self::from_seed(seed)
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// 32 random bits that are not all zero, as verification tags must be (RFC 9260 section 3.3.2).
    pub fn non_zero_u32(&mut self) -> u32 {
        loop {
            let value = self.0.next_u32();
            if value != 0 {
                return value;
            }
        }
    }

    /// 32 random bytes.
    pub fn bytes32(&mut self) -> [u8; 32] {
        let mut out = [0; 32];
        self.0.fill_bytes(&mut out);
        out
    }

    /// A uniform number below `n`; zero when `n` is zero.
    pub fn below(&mut self, n: usize) -> usize {
        // The multiply-shift bias is below 2^-32 for the handful of candidates this is asked about.
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }

    /// A uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A generator at rest: its seed and how far it is, 40 bytes instead of 304. For one that is rarely
/// asked but held a million times over, as an association's.
#[derive(Clone, Debug)]
pub(crate) struct StoredRng {
    seed: [u8; 32],
    /// 32-bit words drawn.
    drawn: u64,
}

impl StoredRng {
    /// `rng`, where it stands.
    pub(crate) fn new(rng: &Rng) -> Self {
        Self { seed: rng.0.get_seed(), drawn: rng.0.get_word_pos() as u64 }
    }

    /// Wakes the generator for `draw`: the numbers are those that it would have given awake.
    pub(crate) fn with<T>(&mut self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        let mut rng = Rng::from_seed(self.seed);
        rng.0.set_word_pos(self.drawn.into());
        let drawn = draw(&mut rng);
        self.drawn = rng.0.get_word_pos() as u64;
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_generator_goes_on_where_it_was() {
        let mut awake = Rng::from_u64(7);
        awake.next_u32();
        let mut stored = StoredRng::new(&awake);
        for _ in 0..50 {
            assert_eq!(stored.with(Rng::next_u64), awake.next_u64());
            assert_eq!(stored.with(Rng::bytes32), awake.bytes32());
            assert_eq!(stored.with(Rng::unit), awake.unit());
            assert_eq!(stored.with(Rng::next_u32), awake.next_u32());
        }
    }

    #[test]
    fn same_seed_same_numbers_and_forks_differ() {
        let (mut a, mut b) = (Rng::from_u64(7), Rng::from_u64(7));
        assert_eq!(a.next_u64(), b.next_u64());
        let mut fork = a.fork();
        assert_ne!(fork.next_u64(), a.next_u64());
        assert!((0..1000).all(|_| a.below(3) < 3 && a.unit() < 1.0));
        assert_eq!(a.below(0), 0);
    }
}
