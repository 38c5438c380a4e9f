//! Buffers that grow to what the paths can carry: dynamic right-sizing (Fisk and Feng 2001) over several paths. What must be held is what
//! all paths deliver in the round trip of the slowest: its packets are waited for, and its acknowledgements.

use super::Association;
use crate::config::{AssocConfig, CcConfig, InitialSsthresh};
use crate::time::{Duration, Time};
use crate::view::PathView;

/// Room for so many times what one round trip delivers: one for what is in flight, one for what waits while a loss is repaired.
const ROUNDS: u64 = 2;

/// Round trips that nothing else measures are measured so often while data comes in.
const MEASURE: Duration = Duration::from_secs(1);

/// The bounds, and what is known of the present round.
#[derive(Debug)]
pub(crate) struct Tuning {
    receive_max: u64,
    send_max: u64,
    began: Time,
    /// Bytes delivered to the application until then.
    delivered: u64,
    measured: Time,
}

impl Tuning {
    pub(super) fn of(config: &AssocConfig) -> Option<Box<Self>> {
        let (receive, send) = (config.receive_buffer_max, config.send_buffer_max);
        (receive.is_some() || send.is_some()).then(|| {
            Box::new(Self {
                receive_max: receive.unwrap_or(0).into(),
                send_max: send.unwrap_or(0),
                began: Time::ZERO,
                delivered: 0,
                measured: Time::ZERO,
            })
        })
    }
}

/// What congestion control is told. The window that the peer announces at set-up says nothing where windows grow: as slow start
/// threshold it would end slow start long before the paths are full, so the largest window counts (RFC 9260 section 7.2.1).
pub(in crate::association) fn congestion(config: &AssocConfig) -> CcConfig {
    let mut congestion = config.congestion.clone();
    if let (InitialSsthresh::PeerWindow, Some(most)) =
        (congestion.initial_ssthresh, config.send_buffer_max)
    {
        congestion.initial_ssthresh = InitialSsthresh::Bytes(most);
    }
    congestion
}

impl Association {
    /// Sizes of the receive and the send buffer at present, bytes.
    pub fn buffer_sizes(&self) -> (u32, u64) {
        (self.rx.buffer_size(), self.tx.buffer_view().limit)
    }

    /// Whether the receive buffer follows the paths: then their round trips must be known here, too.
    pub(super) fn tunes_receive_buffer(&self) -> bool {
        self.config.receive_buffer_max.is_some()
    }

    /// Data came in: once per round trip of the slowest path, is the buffer large enough for what was delivered meanwhile?
    #[inline]
    pub(super) fn tune_receive_buffer(&mut self, now: Time) {
        if self.tuning.as_ref().is_some_and(|tuning| tuning.receive_max > 0) {
            self.grow_receive_buffer(now);
        }
    }

    fn grow_receive_buffer(&mut self, now: Time) {
        let Some(rtt) = self.slowest_round_trip() else { return };
        let Some(tuning) = &mut self.tuning else { return };
        let elapsed = now.since(tuning.began);
        if elapsed < rtt {
            return;
        }
        // What waits for a missing chunk was delivered by its path, too.
        let arrived = self.stats.bytes_delivered + u64::from(self.rx.held());
        let bytes = arrived.saturating_sub(tuning.delivered);
        // What the application has not read would be room that is used for nothing else than to wait.
        let read = self.rx.held() <= self.rx.out_of_order() + self.rx.buffer_size() / 4;
        (tuning.began, tuning.delivered) = (now, arrived);
        let share = rtt.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        let wanted = (bytes as f64 * share * ROUNDS as f64) as u64;
        let wanted = self.rx.with_charges(wanted).min(tuning.receive_max);
        let measure = now.since(tuning.measured) >= MEASURE;
        if measure {
            tuning.measured = now;
        }
        if read && wanted > u64::from(self.rx.buffer_size()) {
            self.rx.grow_buffer(u32::try_from(wanted).unwrap_or(u32::MAX));
        }
        if measure {
            self.measure_idle_paths(now);
        }
    }

    /// An end that only receives has no acknowledgements to measure by.
    fn measure_idle_paths(&mut self, now: Time) {
        if !self.state.sends_heartbeats() {
            return;
        }
        for p in self.paths.ids() {
            let idle = |v: &PathView| v.usable && v.outstanding == 0;
            let free = self.paths.get(p).is_some_and(|path| path.heartbeat.is_none());
            if free && self.paths.view(p).is_some_and(idle) {
                self.send_heartbeat(now, p);
            }
        }
    }

    /// After a SACK: the send buffer must hold what all paths carry in the round trip of the slowest, since the cum-ack waits for it.
    #[inline]
    pub(super) fn tune_send_buffer(&mut self) {
        let Some(tuning) = self.tuning.as_ref() else { return };
        let buffer = self.tx.buffer_view();
        if tuning.send_max <= buffer.limit || !self.tx.is_half_full() {
            return;
        }
        let Some(rtt) = self.slowest_round_trip() else { return };
        let carried = |v: &PathView| {
            let own = v.srtt.unwrap_or(rtt).max(Duration::from_micros(1));
            // A window that is not used says nothing of what the path carries.
            let window = v.cwnd.min(2 * v.outstanding);
            (window as f64 * (rtt.as_secs_f64() / own.as_secs_f64()).max(1.0)) as u64
        };
        let usable = self.paths.views.iter().filter(|v| v.usable);
        let wanted = ROUNDS * usable.map(carried).sum::<u64>();
        // Small messages fill the memory that goes with the buffer before the buffer itself.
        let wanted = (wanted as f64 * self.tx.weight()) as u64;
        if wanted > buffer.limit {
            self.tx.grow_buffer(wanted.min(tuning.send_max));
        }
    }

    fn slowest_round_trip(&self) -> Option<Duration> {
        let usable = self.paths.views.iter().filter(|v| v.usable);
        usable.filter_map(|v| v.srtt).max()
    }
}
