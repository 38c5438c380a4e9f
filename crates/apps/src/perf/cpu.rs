//! CPU time of this process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::report::Cpu;

/// What this process used so far, the kernel's work for it included; nothing where the system does
/// not say.
pub(crate) fn read_cpu() -> Cpu {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    getrusage(UsageWho::RUSAGE_SELF).map_or(Cpu::default(), |usage| Cpu {
        user: seconds(usage.user_time()),
        system: seconds(usage.system_time()),
    })
}
