//! Long runs of the random interaction test:
//! `cargo run --release -p polypath-testkit --example interact -- --cases 200000 --seed 1`.
//!
//! All failures are sorted by kind; the first of each kind is made short and shown.

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use common::random_policies;
use polypath_testkit::interact::{Summary, examine_seed, triage_failures};

const THREADS: u64 = 2;
const USAGE: &str = "usage: interact [--cases N] [--seed S]";

fn main() -> ExitCode {
    let Some((cases, first)) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    // Panics of the code under test are failures with a seed; their text alone helps nobody.
    std::panic::set_hook(Box::new(|_| {}));
    let (summary, kinds) = play_all(cases, first);
    for (kind, seeds) in &kinds {
        let shown: Vec<_> = seeds.iter().take(8).collect();
        println!("== {} times, seeds {shown:?} ...: {kind}", seeds.len());
        let shortest = seeds.first().and_then(|seed| examine_seed(*seed, &random_policies));
        if let Some(failure) = shortest {
            println!("{failure}");
        }
    }
    println!("seeds {first}..{}: {summary}", first + cases);
    let failures: usize = kinds.values().map(Vec::len).sum();
    println!("{failures} failures of {} kinds", kinds.len());
    if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn play_all(cases: u64, first: u64) -> (Summary, BTreeMap<String, Vec<u64>>) {
    let done = AtomicU64::new(0);
    let tell = |_| {
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(1000) {
            eprintln!("{count} of {cases}");
        }
    };
    let play = &|thread: u64| {
        let seeds = (first..first + cases).skip(thread as usize).step_by(THREADS as usize);
        triage_failures(seeds, &random_policies, tell)
    };
    let (mut summary, mut kinds) = (Summary::default(), BTreeMap::<String, Vec<u64>>::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || play(t))).collect();
        for thread in threads {
            let (part, found) = thread.join().expect("panics of the code under test are caught");
            summary.merge_with(part);
            for (kind, seeds) in found {
                kinds.entry(kind).or_default().extend(seeds);
            }
        }
    });
    kinds.values_mut().for_each(|seeds| seeds.sort_unstable());
    (summary, kinds)
}

fn arguments() -> Option<(u64, u64)> {
    let (mut cases, mut seed) = (10_000, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().and_then(|value| value.parse().ok())?;
        match word.as_str() {
            "--cases" => cases = value,
            "--seed" => seed = value,
            _ => return None,
        }
    }
    Some((cases, seed))
}
