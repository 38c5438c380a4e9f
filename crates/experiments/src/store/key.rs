//! What a run is known by.

use core::fmt;
use core::str::FromStr;

use polypath_scenario::{Scenario, Seeds};
use sha2::{Digest as _, Sha256};

/// A hash over everything that decides about a run's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    /// The key of these bytes.
    pub fn from_content(bytes: &[u8]) -> Self {
        Self::of_digest(&Sha256::digest(bytes))
    }

    fn of_digest(digest: &[u8]) -> Self {
        let half = digest.iter().take(16);
        Self(half.fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }

    /// The key of a run: stack, scenario without what only people read, seed, and whether it was
    /// traced.
    pub fn of_run(scenario: &Scenario, seed: u64, traced: bool) -> Self {
        RunKeys::new(scenario, traced).of_seed(seed)
    }

    /// Its bytes, most significant first.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The key of these bytes.
    pub const fn of_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

/// The keys of a scenario's runs, of which only the seed differs.
#[derive(Clone, Debug)]
pub struct RunKeys {
    /// Of what stands before the seed.
    head: Sha256,
    /// What stands behind it.
    tail: String,
}

impl RunKeys {
    /// The keys of this scenario's runs.
    pub fn new(scenario: &Scenario, traced: bool) -> Self {
        let bare = Scenario {
            title: None,
            description: None,
            sweep: Vec::new(),
            metrics: Vec::new(),
            seeds: Seeds::default(),
            ..scenario.clone()
        };
        // A scenario is plain data, which always has a JSON text.
        let json = serde_json::to_string(&bare).unwrap_or_default();
        // The text has only the names of delivery traces.
        let traces: String = bare.traces().map(|trace| format!("\n{}", trace.digest())).collect();
        // Own schedulers without a version have no lasting key: who keeps runs refuses them.
        let own = scenario.scheduler_versions().unwrap_or_default();
        let head = Sha256::new_with_prefix(format!("{}\n{json}\n", stack_version()));
        Self { head, tail: format!("\n{traced}{traces}{own}") }
    }

    /// The key of the run with this seed.
    pub fn of_seed(&self, seed: u64) -> Key {
        let whole = self.head.clone().chain_update(seed.to_string()).chain_update(&self.tail);
        Key::of_digest(&whole.finalize())
    }
}

/// Version of everything between a scenario and its figures.
pub const fn stack_version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "-", env!("POLYPATH_STACK"))
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Key {
    type Err = core::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read_does_not_count_and_the_rest_does() {
        let scenario = Scenario::default();
        let titled = Scenario { title: Some("x".into()), ..scenario.clone() };
        let key = Key::of_run(&scenario, 1, false);
        assert_eq!(key, Key::of_run(&titled, 1, false));
        assert_ne!(key, Key::of_run(&scenario, 2, false));
        assert_ne!(key, Key::of_run(&scenario, 1, true));
        let timed = Scenario {
            time: polypath_scenario::TimeSpec {
                sample: Some(polypath_scenario::units::Delay(1)),
                ..Default::default()
            },
            ..scenario
        };
        assert_ne!(key, Key::of_run(&timed, 1, false));
        assert_eq!(key.to_string().parse(), Ok(key));
    }
}
