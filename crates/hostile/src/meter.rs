//! What a process uses, as Linux counts it.

use std::fs;
use std::time::Duration;

/// What a process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Memory in use (RSS), bytes.
    pub resident: u64,
    /// Processor time of all threads that live, so far.
    pub cpu: Duration,
}

impl Usage {
    /// Of process `pid`.
    ///
    /// # Panics
    /// When there is no such process, or /proc is not Linux's.
    pub fn of_process(pid: u32) -> Self {
        let count =
            |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).expect("/proc").count();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("/proc");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = resident.and_then(|r| r.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            descriptors: count("fd"),
            threads: count("task"),
            resident: kib.expect("VmRSS in kB") * 1024,
            cpu: cpu_time(pid),
        }
    }
}

/// Sum of the first fields of schedstat, nanoseconds, over all threads.
fn cpu_time(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("/proc").flatten();
    let nanos = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
