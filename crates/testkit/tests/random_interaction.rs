//! Random interaction of two endpoints: see `polypath_testkit::interact`.
//!
//! `POLYPATH_CASES` and `POLYPATH_SEED` choose how many scripts are played and with which seed they
//! begin.

mod common;

use common::random_policies;
use polypath_testkit::interact::{Ending, Failure, Summary, explore_seeds};

const CASES: u64 = 10_000;
const THREADS: u64 = 2;
/// What applications are told in some of so many scripts.
const HEARD: [&str; 15] = [
    "abandoned",
    "association reset",
    "limited",
    "local address",
    "packets too big",
    "part",
    "partial delivery aborted",
    "path MTU",
    "path added",
    "path removed",
    "restarted",
    "send failed",
    "stalled",
    "streams added",
    "streams reset",
];

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn every_script_comes_to_an_end_and_no_promise_is_broken() {
    let first = from_env("POLYPATH_SEED").unwrap_or(1);
    let cases = from_env("POLYPATH_CASES").unwrap_or(CASES);
    let play = |thread: u64| -> Result<Summary, Box<Failure>> {
        let seeds = (first..first + cases).skip(thread as usize).step_by(THREADS as usize);
        explore_seeds(seeds, &random_policies, |_| {})
    };
    let mut summary = Summary::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || play(t))).collect();
        for thread in threads {
            match thread.join().expect("panics of the code under test are caught") {
                Ok(part) => summary.merge_with(part),
                Err(failure) => panic!("{failure}"),
            }
        }
    });
    println!("{summary}");
    let graceful = summary.endings.get(&Ending::Graceful).copied().unwrap_or_default();
    // A generator that draws nothing of a feature would find nothing wrong with it.
    let missed: Vec<_> = HEARD.iter().filter(|kind| !summary.heard.contains_key(**kind)).collect();
    assert!(cases < 5000 || missed.is_empty(), "no script came to {missed:?}: {summary}");
    assert!(cases < 100 || graceful * 3 > cases, "few scripts end gracefully: {summary}");
}
