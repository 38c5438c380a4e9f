//! Two ends and what their clocks have to do with each other.

use nix::time::ClockId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How the server's clock relates to the client's. Delays one way depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockRelation {
    /// Both ends run on one machine and read the same clock: one-way delays are exact.
    pub common: bool,
    /// The server's clock minus the client's, nanoseconds; 0 with a common clock. Estimated from
    /// the fastest of some round trips, half of which is taken for the way there.
    pub offset_ns: i64,
    /// The estimate, and so every one-way delay, may be wrong by this, nanoseconds, either way.
    pub error_ns: u64,
}

/// Nanoseconds of the system's monotonic clock. It is one clock for all processes of a machine.
pub(crate) fn now_ns() -> u64 {
    ClockId::CLOCK_MONOTONIC.now().map_or(0, |time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        seconds.saturating_mul(1_000_000_000) + u64::try_from(time.tv_nsec()).unwrap_or(0)
    })
}

/// What two ends have in common if they read the same clock: a digest, so that it tells others
/// nothing. `None` where the system does not say.
pub(crate) fn clock_mark() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    // A time namespace shifts the clock.
    let space = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    let digest = Sha256::digest(format!("polypath perf {boot} {}", space.display()));
    Some(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

/// One question for the peer's time and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) asked: u64,
    pub(crate) peer: u64,
    pub(crate) answered: u64,
}

impl Sample {
    /// Nanoseconds that the round trip took.
    pub(crate) const fn round_trip(&self) -> u64 {
        self.answered.saturating_sub(self.asked)
    }
}

impl ClockRelation {
    /// What `samples` tell; `same_machine`: both ends have the same [`clock_mark`].
    pub(crate) fn from_samples(samples: &[Sample], same_machine: bool) -> Self {
        let Some(best) = samples.iter().min_by_key(|s| s.round_trip()) else {
            return Self { common: same_machine, ..Self::default() };
        };
        let half = best.round_trip() / 2;
        let offset = i128::from(best.peer) - i128::from(best.asked) - i128::from(half);
        // Whoever claims to share our clock must not contradict it.
        if same_machine && offset.unsigned_abs() <= u128::from(half) + 1_000_000 {
            return Self { common: true, offset_ns: 0, error_ns: 0 };
        }
        let bounded = offset.clamp(i64::MIN.into(), i64::MAX.into());
        Self { common: false, offset_ns: i64::try_from(bounded).unwrap_or(0), error_ns: half }
    }

    /// A time of the client's clock on the server's.
    pub(crate) const fn at_server(&self, client_ns: u64) -> u64 {
        client_ns.saturating_add_signed(self.offset_ns)
    }

    /// What must be added to the peer's stamps to have them on our clock.
    pub(crate) const fn stamp_correction(&self, client: bool) -> i64 {
        if client { self.offset_ns.saturating_neg() } else { self.offset_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_round_trip_gives_the_offset() {
        let slow = Sample { asked: 0, peer: 10_900, answered: 2000 };
        let fast = Sample { asked: 5000, peer: 15_100, answered: 5200 };
        let relation = ClockRelation::from_samples(&[slow, fast], false);
        assert_eq!(relation, ClockRelation { common: false, offset_ns: 10_000, error_ns: 100 });
        assert_eq!(
            (relation.stamp_correction(true), relation.stamp_correction(false)),
            (-10_000, 10_000)
        );
    }

    #[test]
    fn a_common_clock_has_to_look_like_one() {
        let near = Sample { asked: 1_000_000_000, peer: 1_000_300_000, answered: 1_000_400_000 };
        assert!(ClockRelation::from_samples(&[near], true).common);
        let far = Sample { peer: 9_000_000_000, ..near };
        assert!(!ClockRelation::from_samples(&[far], true).common);
        let absurd = Sample { asked: 5, peer: u64::MAX, answered: 0 };
        assert!(!ClockRelation::from_samples(&[absurd], true).common);
    }

    #[test]
    fn the_clock_runs() {
        let first = now_ns();
        assert!(first > 0 && now_ns() >= first);
        assert_eq!(clock_mark(), clock_mark());
    }
}
