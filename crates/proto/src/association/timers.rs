//! The association's own timers.

use crate::time::Time;

/// Timers of the association as a whole; T3-rtx and heartbeats are kept with their paths, the delayed SACK with the receiver.
/// `Time::MAX` means off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// T1-init or T1-cookie, by the state.
    pub(crate) t1: Time,
    /// T2-shutdown.
    pub(crate) t2: Time,
    /// T5-shutdown-guard.
    pub(crate) t5: Time,
    /// A packet came since T5 was started.
    pub(crate) heard: bool,
    /// The next zero-window probe.
    pub(crate) probe: Time,
    /// The path scheduler asked to be asked again.
    pub(crate) scheduler: Time,
}

impl Default for Timers {
    fn default() -> Self {
        let off = Time::MAX;
        Self { t1: off, t2: off, t5: off, heard: false, probe: off, scheduler: off }
    }
}

impl Timers {
    /// The earliest.
    pub(super) fn next(&self) -> Time {
        self.t1.min(self.t2).min(self.t5).min(self.probe).min(self.scheduler)
    }

    /// Whether any runs.
    pub(crate) fn any(&self) -> bool {
        self.next() != Time::MAX
    }
}

/// Whether `timer` has expired; it is off afterwards.
pub(super) fn expired(timer: &mut Time, now: Time) -> bool {
    let due = *timer <= now;
    if due {
        *timer = Time::MAX;
    }
    due
}
