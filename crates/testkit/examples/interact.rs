//! Long runs of the random interaction test:
//! `cargo run --release -p polypath-testkit --example interact -- --cases 200000 --seed 1`.
//!
//! `--protected` protects the packets of both ends, and replaces keys every 50 packets.
//!
//! All failures are sorted by kind; the first of each kind is made short and shown.

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{protected_script, random_policies, stand_in};
use polypath_proto::protection::KeyManagement;
use polypath_testkit::interact::{Script, Summary, examine_script, triage_scripts};

const THREADS: u64 = 2;
const USAGE: &str = "usage: interact [--cases N] [--seed S] [--protected]";

/// What is asked for.
struct Request {
    cases: u64,
    first: u64,
    protected: bool,
}

impl Request {
    fn script(&self, seed: u64) -> Script {
        let keys: Arc<dyn KeyManagement> = Arc::new(stand_in());
        if self.protected {
            protected_script(seed, &keys)
        } else {
            Script::random(seed, &random_policies)
        }
    }
}

fn main() -> ExitCode {
    let Some(request) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    // Panics of the code under test are failures with a seed; their text alone helps nobody.
    std::panic::set_hook(Box::new(|_| {}));
    let (summary, kinds) = play_all(&request);
    for (kind, seeds) in &kinds {
        let shown: Vec<_> = seeds.iter().take(8).collect();
        println!("== {} times, seeds {shown:?} ...: {kind}", seeds.len());
        let shortest = seeds.first().and_then(|seed| examine_script(request.script(*seed)));
        if let Some(failure) = shortest {
            println!("{failure}");
        }
    }
    let Request { cases, first, .. } = request;
    println!("seeds {first}..{}: {summary}", first + cases);
    let failures: usize = kinds.values().map(Vec::len).sum();
    println!("{failures} failures of {} kinds", kinds.len());
    if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn play_all(request: &Request) -> (Summary, BTreeMap<String, Vec<u64>>) {
    let Request { cases, first, .. } = *request;
    let done = AtomicU64::new(0);
    let tell = |_: &Script| {
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(1000) {
            eprintln!("{count} of {cases}");
        }
    };
    let play = &|thread: u64| {
        let seeds = (first..first + cases).skip(thread as usize).step_by(THREADS as usize);
        triage_scripts(seeds.map(|seed| request.script(seed)), tell)
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

fn arguments() -> Option<Request> {
    let mut request = Request { cases: 10_000, first: 1, protected: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().and_then(|value| value.parse().ok());
        match word.as_str() {
            "--cases" => request.cases = value()?,
            "--seed" => request.first = value()?,
            "--protected" => request.protected = true,
            _ => return None,
        }
    }
    Some(request)
}
