//! Policies by name, for tests that run over all of them; and worlds whose associations are
//! protected.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Arc;

use polypath_policies::{PolicyKind, PolicySpec, all, factory};
use polypath_proto::protection::KeyManagement;
use polypath_proto::rng::Rng;
use polypath_secure::{RekeyPolicy, StandIn};
use polypath_testkit::interact::{Ending, Failure, Policies, Script, Summary, explore_scripts};

/// The names of all policies of a kind that can be made from their name alone.
pub(crate) fn names(kind: PolicyKind) -> Vec<&'static str> {
    let complete = all().iter().filter(|entry| entry.kind == kind && entry.needs.is_empty());
    complete.map(|entry| entry.name).collect()
}

/// The policies that a specification names.
pub(crate) fn policies(spec: &PolicySpec) -> Policies {
    let PolicySpec { path_scheduler, stream_scheduler, retransmission, buffer, congestion } = spec;
    Policies {
        name: format!("{path_scheduler}/{stream_scheduler}/{retransmission}/{buffer}/{congestion}"),
        factory: factory(spec).expect("registered names"),
    }
}

/// One of every kind, at random.
pub(crate) fn random_policies(rng: &mut Rng) -> Policies {
    let mut one = |kind| {
        let names = names(kind);
        names[rng.below(names.len())].to_owned()
    };
    policies(&PolicySpec {
        path_scheduler: one(PolicyKind::PathScheduler),
        stream_scheduler: one(PolicyKind::StreamScheduler),
        retransmission: one(PolicyKind::Retransmission),
        buffer: one(PolicyKind::Buffer),
        congestion: one(PolicyKind::Congestion),
    })
}

/// Packets that keys are used for in hostile worlds.
const KEYS_LAST: u64 = 50;

/// Keys without secrets, replaced often.
pub(crate) fn stand_in() -> StandIn {
    StandIn::new(RekeyPolicy { packets: KEYS_LAST, ..RekeyPolicy::default() })
}

/// The hostile world of a seed, with both ends' packets protected.
pub(crate) fn protected_script(seed: u64, keys: &Arc<dyn KeyManagement>) -> Script {
    Script::random(seed, &random_policies).protected_by(keys)
}

const THREADS: u64 = 2;

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Plays the scripts of `cases` seeds from 1 on, or of those that `POLYPATH_CASES` and
/// `POLYPATH_SEED` choose. Gives what came of them, and how many they were.
pub(crate) fn explore(cases: u64, script: impl Fn(u64) -> Script + Sync) -> (Summary, u64) {
    let first = from_env("POLYPATH_SEED").unwrap_or(1);
    let cases = from_env("POLYPATH_CASES").unwrap_or(cases);
    let play = |thread: u64| -> Result<Summary, Box<Failure>> {
        let seeds = (first..first + cases).skip(thread as usize).step_by(THREADS as usize);
        explore_scripts(seeds.map(&script), |_| {})
    };
    let mut summary = Summary::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                scope.spawn({
                    let play = &play;
                    move || play(t)
                })
            })
            .collect();
        for thread in threads {
            match thread.join().expect("panics of the code under test are caught") {
                Ok(part) => summary.merge_with(part),
                Err(failure) => panic!("{failure}"),
            }
        }
    });
    println!("{summary}");
    let graceful = summary.endings.get(&Ending::Graceful).copied().unwrap_or_default();
    assert!(cases < 100 || graceful * 3 > cases, "few scripts end gracefully: {summary}");
    (summary, cases)
}
