//! Random interaction of two endpoints that protect their packets, and replace keys every 50 of
//! them: nothing of an application ever goes in plain, and each message arrives once as it was
//! sent, also where somebody on the path forges packets.
//!
//! `POLYPATH_CASES` and `POLYPATH_SEED` choose how many scripts are played and with which seed they
//! begin; more of them run by `cargo run --release -p polypath-testkit --example interact --
//! --protected`, with a stand-in for the cipher.

mod common;

use std::sync::Arc;

use common::{explore, protected_script, stand_in};
use polypath_proto::protection::KeyManagement;
use polypath_secure::Suite;

const CASES: u64 = 1000;

#[test]
fn no_promise_is_broken_and_nothing_goes_in_plain_with_a_real_cipher() {
    let keys: Arc<dyn KeyManagement> = Arc::new(stand_in().with_cipher(Suite::Aes128Gcm));
    let (summary, cases) = explore(CASES, |seed| protected_script(seed, &keys));
    // Keys that are never replaced would hide what goes wrong then.
    assert!(cases < 100 || summary.rekeys > cases, "keys are hardly ever replaced: {summary}");
}
