//! Random interaction of two endpoints: see `polypath_testkit::interact`.
//!
//! `POLYPATH_CASES` and `POLYPATH_SEED` choose how many scripts are played and with which seed they
//! begin.

mod common;

use common::{explore, random_policies};
use polypath_testkit::interact::Script;

const CASES: u64 = 10_000;
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

#[test]
fn every_script_comes_to_an_end_and_no_promise_is_broken() {
    let (summary, cases) = explore(CASES, |seed| Script::random(seed, &random_policies));
    // A generator that draws nothing of a feature would find nothing wrong with it.
    let missed: Vec<_> = HEARD.iter().filter(|kind| !summary.heard.contains_key(**kind)).collect();
    assert!(cases < 5000 || missed.is_empty(), "no script came to {missed:?}: {summary}");
}
