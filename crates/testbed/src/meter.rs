//! What arrives in the emulated world.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use polypath_emu::Lateness;
use polypath_sim::spec::TimeSpec;

/// Messages carry their number in so many bytes, if they have them.
pub(crate) const NUMBER_BYTES: usize = 8;

/// What one flow carried within the measuring time.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// The flow's name.
    pub name: String,
    /// Payload bit/s delivered.
    pub goodput: f64,
    /// Mean delay of messages in s, from acceptance to delivery; `None` without messages, or if
    /// they are too short to carry a number.
    pub delay_mean: Option<f64>,
    /// 99 % of the delays were at most this, s.
    pub delay_p99: Option<f64>,
    /// SACKs that came for each packet that the sender sent; `None` if that is not known.
    pub sacks: Option<f64>,
}

/// What happened in one run of the emulated world.
#[derive(Clone, Debug)]
pub struct Played {
    /// In the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// How late the network delivered packets.
    pub lateness: Lateness,
}

/// Counts a flow's messages, from its sender and its receiver.
#[derive(Debug)]
pub(crate) struct Meter {
    name: String,
    begin: Instant,
    end: Instant,
    /// From when on the application may send.
    sending: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When message number n was accepted.
    accepted: Vec<Instant>,
    bytes: u64,
    delay_sum: Duration,
    delays: Histogram<u64>,
    last: Option<Instant>,
    sacks: Option<f64>,
}

impl Meter {
    /// `start` is when the run began.
    pub(crate) fn new(name: &str, start: Instant, time: TimeSpec) -> Self {
        let begin = start + Duration::from_nanos(time.settle);
        // Invariant: 1 to 5 digits are valid.
        let delays = Histogram::new(2).expect("two digits are within the histogram's range");
        let (accepted, bytes, delay_sum, last) = (Vec::new(), 0, Duration::ZERO, None);
        let state = State { accepted, bytes, delay_sum, delays, last, sacks: None };
        let state = Mutex::new(state);
        Self {
            name: name.to_owned(),
            begin,
            end: begin + Duration::from_nanos(time.measure),
            sending: start,
            state,
        }
    }

    /// The application sends from `at` on, and not from the start.
    pub(crate) fn sending_from(self, at: Instant) -> Self {
        Self { sending: at, ..self }
    }

    pub(crate) fn end(&self) -> Instant {
        self.end
    }

    /// The next message was accepted by `send`.
    pub(crate) fn note_accepted(&self) {
        self.lock_state().accepted.push(Instant::now());
    }

    /// What the sender has counted by now.
    pub(crate) fn note_sacks(&self, sent: u64, sacks: u64) {
        self.lock_state().sacks = (sent > 0).then(|| sacks as f64 / sent as f64);
    }

    pub(crate) fn note_delivered(&self, data: &[u8]) {
        let now = Instant::now();
        let mut state = self.lock_state();
        state.last = Some(now);
        if now < self.begin || now >= self.end {
            return;
        }
        state.bytes += data.len() as u64;
        let number = data.first_chunk::<NUMBER_BYTES>().map(|bytes| u64::from_be_bytes(*bytes));
        let number = number.and_then(|number| usize::try_from(number).ok());
        // On the fastest of paths a message can be there before its sender has noted it.
        if let Some(at) = number.and_then(|number| state.accepted.get(number).copied()) {
            let delay = now.duration_since(at);
            state.delay_sum += delay;
            // Fails only for values beyond a histogram that does not grow; this one does.
            let _ = state.delays.record(delay.as_nanos() as u64);
        }
    }

    /// Goodput is over the measuring time, or, of a flow with an end, from when it may send to its
    /// last delivery.
    pub(crate) fn outcome(&self, finished: bool) -> FlowOutcome {
        let state = self.lock_state();
        let last = state.last.filter(|_| finished);
        let end = last.map_or(self.end, |last| last.min(self.end));
        let begin = last.map_or(self.begin, |_| self.begin.max(self.sending));
        let measured = end.duration_since(begin).as_secs_f64().max(1e-9);
        let delays = &state.delays;
        let some = |value: f64| (!delays.is_empty()).then_some(value);
        FlowOutcome {
            name: self.name.clone(),
            goodput: state.bytes as f64 * 8.0 / measured,
            delay_mean: some(state.delay_sum.as_secs_f64() / delays.len().max(1) as f64),
            delay_p99: some(delays.value_at_quantile(0.99) as f64 * 1e-9),
            sacks: state.sacks,
        }
    }

    /// Numbers are whole even if a thread panicked while it held the lock.
    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_in_the_measuring_time_counts_with_its_delay() {
        let time = TimeSpec { settle: 0, measure: 3_600_000_000_000, stop_when_done: false };
        let meter = Meter::new("a", Instant::now(), time);
        meter.note_accepted();
        meter.note_delivered(&[&0u64.to_be_bytes()[..], &[0; 92]].concat());
        meter.note_delivered(&[0; 4]);
        let outcome = meter.outcome(false);
        assert_eq!(outcome.goodput, 104.0 * 8.0 / 3600.0);
        assert!(outcome.delay_mean.is_some_and(|delay| delay < 1.0));
        let later = Instant::now() + Duration::from_secs(60);
        let meter = Meter::new("b", later, time);
        meter.note_delivered(&[0; 4]);
        assert_eq!((meter.outcome(false).goodput, meter.outcome(false).delay_p99), (0.0, None));
    }
}
