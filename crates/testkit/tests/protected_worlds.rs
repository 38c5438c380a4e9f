//! Random interaction of two endpoints that protect their packets, and replace keys every 50 of
//! them: nothing of an application ever goes in plain, and each message arrives once as it was
//! sent, also where somebody on the path forges packets.
//!
//! `POLYPATH_CASES` and `POLYPATH_SEED` choose how many scripts are played and with which seed they
//! begin; more of them run by `cargo run --release -p polypath-testkit --example interact --
//! --protected`, with a stand-in for the cipher.

mod common;

use std::sync::Arc;

use common::{protected_script, stand_in};
use polypath_proto::protection::KeyManagement;
use polypath_secure::Suite;
use polypath_testkit::interact::{Ending, Failure, Summary, explore_scripts};

const CASES: u64 = 1000;
const THREADS: u64 = 2;

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn play(keys: &Arc<dyn KeyManagement>) {
    let first = from_env("POLYPATH_SEED").unwrap_or(1);
    let cases = from_env("POLYPATH_CASES").unwrap_or(CASES);
    let play = |thread: u64| -> Result<Summary, Box<Failure>> {
        let seeds = (first..first + cases).skip(thread as usize).step_by(THREADS as usize);
        explore_scripts(seeds.map(|seed| protected_script(seed, keys)), |_| {})
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
    assert!(cases < 100 || graceful * 3 > cases, "few scripts end gracefully: {summary}");
    // Keys that are never replaced would hide what goes wrong then.
    assert!(cases < 100 || summary.rekeys > cases, "keys are hardly ever replaced: {summary}");
}

#[test]
fn no_promise_is_broken_and_nothing_goes_in_plain_with_a_real_cipher() {
    play(&(Arc::new(stand_in().with_cipher(Suite::Aes128Gcm)) as Arc<dyn KeyManagement>));
}
