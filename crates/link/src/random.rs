//! Seeded random streams, one per mechanism: switching one model on does not shift the draws of
//! another.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

/// What makes the random draws of one link, or of one box, its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSeed([u8; 32]);

impl LinkSeed {
    /// The seed of link number `link` in the run with seed `run`.
    #[must_use]
    pub fn new(run: u64, link: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&run.to_le_bytes());
        key[8..16].copy_from_slice(&link.to_le_bytes());
        Self(key)
    }

    pub(crate) fn random_stream(self, stream: Stream) -> ChaCha12Rng {
        let mut rng = ChaCha12Rng::from_seed(self.0);
        rng.set_stream(stream.number());
        rng
    }
}

impl From<[u8; 32]> for LinkSeed {
    fn from(key: [u8; 32]) -> Self {
        Self(key)
    }
}

/// The mechanisms that draw.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Jitter,
    Red,
    /// The external ports and addresses of a [`crate::Nat`].
    Ports,
    /// A loss model, by how often the models were replaced before and by its place among them.
    Loss {
        replaced: u32,
        place: u32,
    },
}

impl Stream {
    fn number(self) -> u64 {
        match self {
            Self::Jitter => 1,
            Self::Red => 2,
            Self::Ports => 3,
            Self::Loss { replaced, place } => 16 + (u64::from(replaced) << 32) + u64::from(place),
        }
    }
}

/// True with probability `p`. It always draws once, so that runs which differ only in `p` compare
/// the same draws.
pub(crate) fn draw_chance(rng: &mut ChaCha12Rng, p: f64) -> bool {
    draw_unit(rng) < p
}

/// Uniform in [0, 1).
pub(crate) fn draw_unit(rng: &mut ChaCha12Rng) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((rng.next_u64() >> 11) as f64) * STEP
}

/// Uniform in `0..=max`, by the high half of a 128-bit product (bias below 2^-64 of the range).
pub(crate) fn up_to(rng: &mut ChaCha12Rng, max: u64) -> u64 {
    ((u128::from(rng.next_u64()) * (u128::from(max) + 1)) >> 64) as u64
}
