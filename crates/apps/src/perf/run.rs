//! A test as both ends go through it, from the first byte of load to the last.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polypath_net::{Association, Event, PathInfo, PathState};
use tokio::sync::{Notify, watch};

use super::clock::now_ns;
use super::control::{Control, Outlet, send_control};
use super::error::PerfError;
use super::meter::Meter;
use super::report::{EndReport, Interval};
use super::spec::TestSpec;
use super::watch::{Look, Watch};
use crate::stall_line;

/// Heard when the user wants to end early.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// A switch that ends tests early: send `true`.
pub fn stop_switch() -> (watch::Sender<bool>, Stop) {
    let (sender, receiver) = watch::channel(false);
    (sender, Stop(receiver))
}

impl Stop {
    /// Whether the switch was thrown.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it.
    pub async fn await_set(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|stopped| *stopped).await.is_err() {
            // Nobody can throw it any more.
            core::future::pending::<()>().await;
        }
    }
}

/// What is heard of a test while it runs.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Number of the association, or of the server's session.
    pub id: u64,
    /// What happened in the last interval.
    pub interval: Interval,
}

/// Hears of intervals.
pub(crate) trait Observer: Fn(Progress) + Sync {}

impl<F: Fn(Progress) + Sync> Observer for F {}

/// One end of one test.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) association: Arc<Association>,
    pub(crate) spec: TestSpec,
    /// This end asked for the test.
    pub(crate) client: bool,
    /// What must be added to the peer's stamps.
    pub(crate) correction_ns: i64,
    pub(crate) start_ns: u64,
    end_ns: u64,
    /// Something arrived.
    pub(crate) progress: Notify,
    meter: Mutex<Meter>,
    /// When the open request of each stream was sent, nanoseconds; 0: there is none.
    asked: Mutex<Vec<u64>>,
    /// What the peer says to have sent in all.
    expected: AtomicU64,
    stopped: watch::Sender<bool>,
    stop: Stop,
}

/// The peer has not said yet what it sent.
const UNKNOWN: u64 = u64::MAX;

impl Run {
    /// A test that begins at `start_ns`.
    pub(crate) fn new(
        association: Arc<Association>,
        spec: TestSpec,
        client: bool,
        correction_ns: i64,
        start_ns: u64,
    ) -> Self {
        let meter = Mutex::new(Meter::new(&spec, client, start_ns, &association));
        let (stopped, stop) = stop_switch();
        Self {
            end_ns: start_ns.saturating_add(spec.total_ms().saturating_mul(1_000_000)),
            asked: Mutex::new(vec![
                0;
                if spec.is_request_response() {
                    usize::from(spec.streams) + 1
                } else {
                    0
                }
            ]),
            association,
            spec,
            client,
            correction_ns,
            start_ns,
            progress: Notify::new(),
            meter,
            expected: AtomicU64::new(UNKNOWN),
            stopped,
            stop,
        }
    }

    pub(crate) fn lock_meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_asked(&self) -> MutexGuard<'_, Vec<u64>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_asked(&self, stream: u16, now_ns: u64) {
        if let Some(asked) = self.lock_asked().get_mut(usize::from(stream)) {
            *asked = now_ns;
        }
    }

    pub(crate) fn take_asked(&self, stream: u16) -> Option<u64> {
        let asked = self.lock_asked().get_mut(usize::from(stream)).map(core::mem::take)?;
        (asked != 0).then_some(asked)
    }

    /// Whether no more load shall be made.
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns || self.stop.is_set()
    }

    /// Ends the load now.
    pub(crate) fn stop_load(&self) {
        self.stopped.send_replace(true);
    }

    /// What was counted so far. Of a test that ended early, its last piece counts as an interval.
    pub(crate) fn report(&self) -> EndReport {
        let mut meter = self.lock_meter();
        let now = now_ns();
        if !meter.is_over() && now > self.start_ns {
            meter.end_interval(now, &self.association);
            meter.end_load();
        }
        meter.report()
    }

    /// Waits for the beginning.
    pub(crate) async fn await_beginning(&self) {
        let wait = Duration::from_nanos(self.start_ns.saturating_sub(now_ns()));
        tokio::time::sleep(wait).await;
        self.lock_meter().begin_counting(&self.association);
    }

    /// Makes load and measures until both ends have all of it. `stop`: the user's switch.
    pub(crate) async fn conduct_test(
        &self,
        outlet: &mut Outlet,
        id: u64,
        observer: &dyn Observer,
        stop: &Stop,
    ) -> Result<(), PerfError> {
        let mut heard = pin!(self.hear_peer(outlet));
        let mut impatient = pin!(self.stop_with(stop));
        let mut load =
            pin!(async { tokio::try_join!(self.send_load(), self.cut_intervals(id, observer)) });
        loop {
            tokio::select! {
                done = &mut load => {
                    done?;
                    break;
                }
                error = &mut heard => return Err(error),
                told = &mut impatient => told?,
            };
        }
        let mut arrive = pin!(self.await_arrivals());
        loop {
            tokio::select! {
                done = &mut arrive => return done,
                error = &mut heard => return Err(error),
                told = &mut impatient => told?,
            }
        }
    }

    /// After the load: tells what was sent, and waits for what comes.
    async fn await_arrivals(&self) -> Result<(), PerfError> {
        if self.client && self.spec.is_request_response() {
            self.wait_until(|run| run.lock_asked().iter().all(|asked| *asked == 0)).await;
        }
        if self.spec.sends_load(self.client) || (self.client && self.spec.is_request_response()) {
            let messages = self.lock_meter().sent_ever();
            send_control(&self.association, Control::Sent { messages }).await?;
        }
        if self.expects_count() {
            let all = |run: &Self| {
                run.lock_meter().received_ever() >= run.expected.load(Ordering::Relaxed)
            };
            self.wait_until(all).await;
        }
        Ok(())
    }

    /// Whether the peer says what it sent.
    fn expects_count(&self) -> bool {
        self.spec.sends_load(!self.client) || (!self.client && self.spec.is_request_response())
    }

    async fn wait_until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            let progress = self.progress.notified();
            tokio::pin!(progress);
            progress.as_mut().enable();
            if done(self) {
                return;
            }
            progress.await;
        }
    }

    /// Cuts intervals until the load's time is over.
    async fn cut_intervals(&self, id: u64, observer: &dyn Observer) -> Result<(), PerfError> {
        for at_ms in interval_ends(&self.spec) {
            let at = self.start_ns.saturating_add(at_ms.saturating_mul(1_000_000));
            let wait = Duration::from_nanos(at.saturating_sub(now_ns()));
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.stop.await_set() => {}
            }
            let stopped = self.stop.is_set();
            let interval = {
                let mut meter = self.lock_meter();
                let interval = meter.end_interval(now_ns(), &self.association);
                if stopped {
                    meter.end_load();
                }
                interval
            };
            observer(Progress { id, interval });
            if stopped {
                return Ok(());
            }
        }
        self.lock_meter().end_load();
        Ok(())
    }

    /// Listens to the peer; returns only what goes wrong.
    async fn hear_peer(&self, outlet: &mut Outlet) -> PerfError {
        loop {
            if self.client
                && (!self.expects_count() || self.expected.load(Ordering::Relaxed) != UNKNOWN)
            {
                // What follows is the report.
                core::future::pending::<()>().await;
            }
            match outlet.next_control().await {
                Ok(Control::Stop) if !self.client => self.stop_load(),
                Ok(Control::Sent { messages }) if self.expects_count() => {
                    self.expected.store(messages.min(UNKNOWN - 1), Ordering::Relaxed);
                    self.progress.notify_waiters();
                }
                Ok(other) => return PerfError::Protocol(format!("{other:?} out of turn")),
                Err(error) => return error,
            }
        }
    }

    /// Ends the load when the user wants, and tells the peer, once.
    async fn stop_with(&self, stop: &Stop) -> Result<(), PerfError> {
        stop.await_set().await;
        self.stop_load();
        if self.client {
            send_control(&self.association, Control::Stop).await?;
        }
        // Done; the switch stays thrown.
        core::future::pending().await
    }

    /// Waits until the peer has been silent for too long, or takes too long to finish.
    pub(crate) async fn watch_peer(&self, stop: &Stop) -> PerfError {
        tokio::select! {
            error = self.watch_clock(stop) => error,
            hole = self.watch_paths() => hole,
        }
    }

    /// Notes stalls. Ends when large packets arrive on no path although small ones do.
    async fn watch_paths(&self) -> PerfError {
        let mut events = self.association.events();
        let mut holes = Vec::new();
        while let Some(event) = events.next().await {
            let (path, mtu) = match event {
                Event::PacketsTooBig { path, mtu } => (path, mtu),
                Event::Stalled { cause, silence } => {
                    self.lock_meter().note_stall(stall_line(cause, silence));
                    continue;
                }
                _ => continue,
            };
            holes.push(path);
            let paths = self.association.paths();
            let works =
                |p: &PathInfo| p.stats.state == PathState::Active && !holes.contains(&p.stats.path);
            if !paths.iter().any(works) {
                return PerfError::Hole { mtu };
            }
        }
        core::future::pending().await
    }

    async fn watch_clock(&self, stop: &Stop) -> PerfError {
        let step = Duration::from_millis(250);
        let mut watch = Watch::new(&self.spec);
        loop {
            tokio::time::sleep(step).await;
            let (now, stats) = (now_ns(), self.association.stats());
            let look = Look {
                packets: stats.packets_received,
                moved: stats.data_bytes_sent + stats.data_chunks_received,
                began: now >= self.start_ns,
                over: self.is_over(now),
                stopped: stop.is_set(),
            };
            if let Some(error) = watch.check_progress(step, &look) {
                return error;
            }
        }
    }
}

/// When intervals end, milliseconds after the beginning: the omitted part is divided by itself.
fn interval_ends(spec: &TestSpec) -> impl Iterator<Item = u64> + use<> {
    let (omit, total, step) = (spec.omit_ms, spec.total_ms(), spec.interval_ms.max(1));
    let mut last = 0;
    core::iter::from_fn(move || {
        let limit = if last < omit { omit } else { total };
        let next = last.saturating_add(step).min(limit);
        (last < total).then(|| {
            last = next;
            next
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::second;
    use super::*;

    #[test]
    fn intervals_end_with_the_omitted_part_and_with_the_test() {
        let spec = TestSpec { duration_ms: 1000, omit_ms: 500, interval_ms: 400, ..second() };
        assert_eq!(interval_ends(&spec).collect::<Vec<_>>(), [400, 500, 900, 1300, 1500]);
        let spec = TestSpec { interval_ms: 5000, ..second() };
        assert_eq!(interval_ends(&spec).collect::<Vec<_>>(), [1000]);
    }
}
