//! Messages of varying size.

use polypath_proto::rng::Rng;

/// Sizes drawn one after the other, log-uniform between two ends: small messages are as common as
/// large ones are in bytes.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    least: u32,
    most: u32,
    rng: Rng,
    /// The size of the next message, drawn once: a message that has to wait stays the same.
    next: Option<u32>,
}

impl Sizes {
    /// Sizes from `least` to `most` bytes, both included.
    pub(super) fn new(least: u32, most: u32, rng: Rng) -> Self {
        Self { least, most, rng, next: None }
    }

    /// The size of the next message, bytes.
    pub(super) fn next_size(&mut self) -> u32 {
        let Self { least, most, rng, next } = self;
        *next.get_or_insert_with(|| {
            let (low, ratio) = (f64::from(*least), f64::from(*most) / f64::from(*least));
            ((low * ratio.powf(rng.unit())).round() as u32).clamp(*least, *most)
        })
    }

    /// The next message was sent.
    pub(super) fn take_size(&mut self) {
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_log_uniform_between_their_ends() {
        let mut sizes = Sizes::new(100, 10_000, Rng::from_u64(1));
        let drawn: Vec<u32> = (0..10_000)
            .map(|_| {
                sizes.take_size();
                sizes.next_size()
            })
            .collect();
        assert!(drawn.iter().all(|size| (100..=10_000).contains(size)));
        let small = drawn.iter().filter(|size| **size < 1_000).count();
        assert!((4_800..5_200).contains(&small), "half are below the geometric mean: {small}");
    }

    #[test]
    fn a_message_that_waits_keeps_its_size() {
        let mut sizes = Sizes::new(1, 65_536, Rng::from_u64(2));
        let first = sizes.next_size();
        assert_eq!(sizes.next_size(), first);
        sizes.take_size();
        assert_ne!(sizes.next_size(), first);
    }
}
