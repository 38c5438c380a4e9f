//! CPU time of this process and of its children: what other load on the machine does not distort.

use std::time::Duration;

use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

/// User and system time of a process, and its peak memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    /// Peak resident set, KiB.
    pub(crate) peak_kib: u64,
}

fn read_usage(who: UsageWho) -> Result<Usage> {
    let usage = getrusage(who)?;
    let part = |t: nix::sys::time::TimeVal| {
        Duration::from_micros((t.tv_sec() * 1_000_000 + t.tv_usec()) as u64)
    };
    let cpu = part(usage.user_time()) + part(usage.system_time());
    Ok(Usage { cpu, peak_kib: usage.max_rss() as u64 })
}

/// CPU seconds that `work` took in this process.
pub(crate) fn measure_cpu<T>(work: impl FnOnce() -> T) -> Result<(T, Duration)> {
    let before = read_usage(UsageWho::RUSAGE_SELF)?;
    let value = work();
    Ok((value, read_usage(UsageWho::RUSAGE_SELF)?.cpu - before.cpu))
}

/// Nanoseconds of CPU that `work` took in this thread: for what takes microseconds. What reading
/// the clock takes is in it: [`clock_cost`].
pub(crate) fn measure_thread<T>(work: impl FnOnce() -> T) -> Result<(T, f64)> {
    let read = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    let before = read()?;
    let value = work();
    Ok((value, (read()? - before).as_nanos() as f64))
}

/// What [`measure_thread`] finds where there is nothing to measure, nanoseconds.
pub(crate) fn clock_cost() -> Result<f64> {
    (0..1000).try_fold(f64::INFINITY, |least, _| Ok(least.min(measure_thread(|| ())?.1)))
}

/// CPU seconds that the child processes of `work` took.
pub(crate) fn of_children<T>(work: impl FnOnce() -> T) -> Result<(T, Duration)> {
    let before = read_usage(UsageWho::RUSAGE_CHILDREN)?;
    let value = work();
    Ok((value, read_usage(UsageWho::RUSAGE_CHILDREN)?.cpu - before.cpu))
}

/// Peak memory of this process so far, KiB.
pub(crate) fn peak_kib() -> Result<u64> {
    Ok(read_usage(UsageWho::RUSAGE_SELF)?.peak_kib)
}
