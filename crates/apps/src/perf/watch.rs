//! When a peer has been silent, or a test has stood still, for too long.

use std::time::Duration;

use super::error::PerfError;
use super::spec::TestSpec;

/// How long a peer may be silent. A working one sends at least heartbeats.
const SILENCE: Duration = Duration::from_secs(20);
/// How long no load may move, beside the time between two messages of a slow one: who asks for a
/// test and does not take part, or does not leave after it, holds a place for nothing.
const IDLE: Duration = Duration::from_secs(60);
/// How long what was sent may be on its way after the end, as long as the peer is not silent.
const GRACE: Duration = Duration::from_secs(300);
/// The same when the user wants to end.
const SHORT_GRACE: Duration = Duration::from_secs(3);

/// What is seen at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// Packets received so far.
    pub(crate) packets: u64,
    /// Something that grows with load, and with what follows it.
    pub(crate) moved: u64,
    /// The time for load has come.
    pub(crate) began: bool,
    /// The time for load is over.
    pub(crate) over: bool,
    /// The user wants to end.
    pub(crate) stopped: bool,
}

/// Looks at a test at regular times.
#[derive(Debug)]
pub(crate) struct Watch {
    idle_limit: Duration,
    silent: Still,
    idle: Still,
    after: Duration,
}

impl Watch {
    pub(crate) fn new(spec: &TestSpec) -> Self {
        let idle_limit = IDLE.saturating_add(spec.message_gap().saturating_mul(2));
        let still = Still::default();
        Self { idle_limit, silent: still, idle: still, after: Duration::ZERO }
    }

    /// `step` has passed. Gives the reason to end the test if there is one.
    pub(crate) fn check_progress(&mut self, step: Duration, look: &Look) -> Option<PerfError> {
        if self.silent.note_count(step, look.packets) >= SILENCE {
            return Some(PerfError::Silent(SILENCE));
        }
        let step_of_load = if look.began { step } else { Duration::ZERO };
        if self.idle.note_count(step_of_load, look.moved) >= self.idle_limit {
            return Some(PerfError::Idle(self.idle_limit));
        }
        self.after = if look.over { self.after + step } else { Duration::ZERO };
        if self.after >= SHORT_GRACE && look.stopped {
            return Some(PerfError::Interrupted);
        }
        (self.after >= GRACE).then_some(PerfError::Unfinished(GRACE))
    }
}

/// How long a counter stood still.
#[derive(Clone, Copy, Debug, Default)]
struct Still {
    count: u64,
    time: Duration,
}

impl Still {
    /// The counter's value now, and how long it has been that.
    fn note_count(&mut self, step: Duration, count: u64) -> Duration {
        self.time = if count == self.count { self.time + step } else { Duration::ZERO };
        self.count = count;
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::Load;
    use super::super::spec::tests::second;
    use super::*;

    const STEP: Duration = Duration::from_millis(250);

    /// When a test ends of which `look` is seen after so many steps, seconds, and why.
    fn end(spec: &TestSpec, look: impl Fn(u64) -> Look) -> (f64, String) {
        let mut watch = Watch::new(spec);
        for step in 1..10_000 {
            if let Some(error) = watch.check_progress(STEP, &look(step)) {
                return ((STEP * step as u32).as_secs_f64(), error.to_string());
            }
        }
        (f64::INFINITY, String::new())
    }

    #[test]
    fn a_peer_that_vanished_is_given_up_after_20_seconds() {
        let look = |step| Look { packets: 1, moved: step, began: true, ..Look::default() };
        let (at, why) = end(&second(), look);
        assert_eq!((at, why.contains("heard of the peer")), (20.25, true), "{why}");
    }

    #[test]
    fn one_that_only_answers_heartbeats_is_given_up_after_60() {
        let look = |step| Look { packets: step, began: step >= 20, ..Look::default() };
        let (at, why) = end(&second(), look);
        assert_eq!((at, why.as_str()), (64.75, "no load moved for 60 s"));
        // Also when its test is over.
        let look = |packets| Look { packets, began: true, over: true, ..Look::default() };
        assert_eq!(end(&second(), look).0, 60.0);
    }

    #[test]
    fn slow_load_is_not_taken_for_none() {
        let slow = TestSpec { size: 1000, load: Load::Rate(80), ..second() };
        // A message every 100 s.
        let look = |packets| Look { packets, moved: packets / 400, began: true, ..Look::default() };
        assert_eq!(end(&slow, look).0, f64::INFINITY);
        let none = |packets| Look { packets, began: true, ..Look::default() };
        assert_eq!(end(&slow, none).0, 260.0);
    }

    #[test]
    fn what_trickles_after_the_end_may_do_so_for_five_minutes() {
        let look = |n| Look { packets: n, moved: n, began: true, over: true, stopped: false };
        assert_eq!(end(&second(), look).0, 300.0);
        let stopped = |n| Look { stopped: true, ..look(n) };
        assert_eq!(end(&second(), stopped), (3.0, "interrupted".to_owned()));
    }
}
