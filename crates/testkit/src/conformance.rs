//! What every policy must keep to, whoever wrote it.
//!
//! Each check drives a policy with seeded random views and events, twice, and panics with the seed
//! when the policy names a path or stream that it may not, starves data that could go, or decides
//! differently the second time. A policy is given its own seed, so that the randomness of its ties
//! repeats.

mod buffer;
mod congestion;
mod path;
mod retransmission;
mod stream;
mod world;

pub use buffer::check_buffer;
pub use congestion::check_congestion;
pub use path::{check_path_scheduler, examine_path_scheduler};
pub use retransmission::check_retransmission;
pub use stream::check_stream_scheduler;

use core::fmt::Debug;

use polypath_proto::policy::Policy;

/// Drives two policies made alike; what they decided must be the same.
fn same_twice<T: PartialEq + Debug>(what: &str, seed: u64, drive: impl Fn() -> Vec<T>) {
    same_decisions(what, seed, &drive(), &drive()).unwrap_or_else(|broken| panic!("{broken}"));
}

fn same_decisions<T: PartialEq>(
    what: &str,
    seed: u64,
    first: &[T],
    second: &[T],
) -> Result<(), String> {
    let differs = first.iter().zip(second).position(|(a, b)| a != b);
    ensure(first == second, || {
        format!(
            "{what}, seed {seed}: decision {differs:?} differs in a second run with the same seed"
        )
    })
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}

fn check_name(policy: &(impl Policy + ?Sized)) {
    let name = policy.name();
    let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(!name.is_empty() && name.chars().all(ok), "name {name:?}: lower case, digits, hyphens");
    for (key, value) in policy.trace_values() {
        assert!(!key.is_empty() && value.is_finite(), "{name}: state {key:?} is {value}");
    }
}

#[cfg(test)]
mod tests;
