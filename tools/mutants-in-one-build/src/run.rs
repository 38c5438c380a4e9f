//! Runs a test program for each mutant that is not caught yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::build::left_out;
use crate::list::Mutant;

/// As many at a time.
const WORKERS: usize = 2;

/// No test needs as much memory, in KiB; a mutant may.
const MEMORY: u64 = 4_000_000;

/// What a program said of a mutant.
#[derive(Clone, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// The test that failed first.
    Failed(String),
    /// It did not end, or wanted too much memory.
    Hung,
}

/// What was seen of a mutant: by program, in order.
pub type Results = BTreeMap<usize, Vec<(String, Verdict)>>;

/// Reads what earlier runs have noted.
pub fn results(path: &Path) -> Result<Results> {
    let mut results = Results::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, program, verdict, detail] = fields[..] else { bail!("not a result: {line}") };
        let verdict = match verdict {
            "passed" => Verdict::Passed,
            "hung" => Verdict::Hung,
            _ => Verdict::Failed(detail.to_owned()),
        };
        results.entry(number.parse()?).or_default().push((program.to_owned(), verdict));
    }
    Ok(results)
}

/// See the crate's documentation.
pub fn run(
    copy: &Path,
    mutants: &[Mutant],
    path: &Path,
    seconds: u64,
    program: &[&str],
) -> Result<()> {
    let limit = Duration::from_secs(seconds);
    let name = name(program);
    if verdict(program, usize::MAX, limit)? != Verdict::Passed {
        bail!("{name} fails without any mutant");
    }
    let pending = Mutex::new(pending(copy, mutants, &results(path)?, &name)?);
    let log = Mutex::new(OpenOptions::new().create(true).append(true).open(path)?);
    thread::scope(|scope| {
        let work = || worker(&pending, &log, &name, program, limit);
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}

/// The name of a program, without the hash that cargo puts behind it, and its arguments.
fn name(program: &[&str]) -> String {
    let file = Path::new(program[0]).file_stem().and_then(|stem| stem.to_str());
    let file = file.and_then(|file| file.split('-').next()).unwrap_or(program[0]);
    [&[file], &program[1..]].concat().join(" ")
}

/// Those which no program has caught, and which this one has not seen.
fn pending(copy: &Path, mutants: &[Mutant], seen: &Results, name: &str) -> Result<Vec<usize>> {
    let without: BTreeSet<usize> =
        left_out(copy, "broken")?.union(&left_out(copy, "unplaced")?).copied().collect();
    let is_done =
        |(program, verdict): &(String, Verdict)| program == name || *verdict != Verdict::Passed;
    let numbers = mutants.iter().map(|mutant| mutant.number).rev();
    Ok(numbers
        .filter(|number| !without.contains(number))
        .filter(|number| !seen.get(number).is_some_and(|list| list.iter().any(is_done)))
        .collect())
}

fn worker(
    pending: &Mutex<Vec<usize>>,
    log: &Mutex<File>,
    name: &str,
    program: &[&str],
    limit: Duration,
) -> Result<()> {
    loop {
        let Some(number) = pending.lock().expect("not poisoned").pop() else {
            return Ok(());
        };
        let (verdict, detail) = match verdict(program, number, limit)? {
            Verdict::Passed => ("passed", String::new()),
            Verdict::Hung => ("hung", String::new()),
            Verdict::Failed(test) => ("failed", test),
        };
        let mut log = log.lock().expect("not poisoned");
        writeln!(log, "{number}\t{name}\t{verdict}\t{detail}")?;
    }
}

/// Runs the program until a test fails.
fn verdict(program: &[&str], number: usize, limit: Duration) -> Result<Verdict> {
    let until = Instant::now() + limit;
    let mut child = start(program, number)?;
    let output = child.stdout.take().context("it has an output")?;
    let (sender, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let verdict = loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if let Some(test) = failed_test(&line) {
                    break Some(Verdict::Failed(test.to_owned()));
                }
            }
            Err(RecvTimeoutError::Timeout) => break Some(Verdict::Hung),
            Err(RecvTimeoutError::Disconnected) => break None,
        }
    };
    if verdict.is_some() {
        child.kill()?;
    }
    let status = child.wait()?;
    let _ = reader.join();
    let ended = || match status.success() {
        true => Verdict::Passed,
        // A failed test would have been seen: it was killed, for want of memory or of stack.
        false => Verdict::Hung,
    };
    Ok(verdict.unwrap_or_else(ended))
}

/// Elsewhere, so that what proptest keeps of a failure is not kept.
fn start(program: &[&str], number: usize) -> Result<Child> {
    let script = format!("ulimit -v {MEMORY}; exec nice -n 19 \"$@\"");
    let child = Command::new("sh")
        .args(["-c", &script, "sh"])
        .args(program)
        .env("MUTANT", number.to_string())
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("RUST_BACKTRACE", "0")
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    child.with_context(|| format!("cannot run {program:?}"))
}

fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.split_once(" ... FAILED").map(|(name, _)| name)
}
