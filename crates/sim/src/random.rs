//! One random stream per named source, so that adding a source does not shift the draws of the
//! others.

use polypath_link::LinkSeed;
use polypath_proto::rng::Rng;
use sha2::{Digest, Sha256};

/// The key of the source `name` in the run with seed `run`: SHA-256 over the seed's eight bytes,
/// least significant first, and the name.
#[must_use]
pub fn named_key(run: u64, name: &str) -> [u8; 32] {
    Sha256::new().chain_update(run.to_le_bytes()).chain_update(name).finalize().into()
}

/// The random stream of the source `name`: ChaCha12 with [`named_key`].
#[must_use]
pub fn named_rng(run: u64, name: &str) -> Rng {
    Rng::from_seed(named_key(run, name))
}

/// The seed of the link `name`; each of its loss models and its jitter draws from a stream of its
/// own.
#[must_use]
pub fn link_seed(run: u64, name: &str) -> LinkSeed {
    LinkSeed::from(named_key(run, &format!("link.{name}")))
}

/// The seed of the box `name`, from which its ports are drawn.
#[must_use]
pub fn nat_seed(run: u64, name: &str) -> LinkSeed {
    LinkSeed::from(named_key(run, &format!("nat.{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_and_name_only() {
        assert_eq!(named_key(1, "link.a"), named_key(1, "link.a"));
        assert_ne!(named_key(1, "link.a"), named_key(2, "link.a"));
        assert_ne!(named_key(1, "link.a"), named_key(1, "link.b"));
    }
}
