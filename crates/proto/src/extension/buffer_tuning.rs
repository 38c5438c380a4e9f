//! Buffers that grow to what the paths can carry: dynamic right-sizing (Fisk and Feng 2001) over
//! several paths. A buffer must hold what all paths deliver in the round trip of the slowest one:
//! the receiver waits for its packets, and the sender for its acknowledgements.

use crate::config::{AssocConfig, CcConfig, InitialSsthresh};
use crate::path::PathSet;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::time::{Duration, Time};
use crate::view::PathView;

/// Room for so many times what one round trip delivers: one for what is in flight, one for what
/// waits while a loss is repaired.
const ROUND_TRIPS: u64 = 2;

/// Round trips that nothing else measures are measured so often while data comes in.
const MEASURE: Duration = Duration::from_secs(1);

/// The bounds of both buffers, and what is known of the present round trip.
#[derive(Debug)]
pub(crate) struct BufferTuning {
    receive_max: u64,
    send_max: u64,
    /// When the present round trip began.
    began: Time,
    /// Bytes delivered to the application until then.
    delivered: u64,
    /// When round trips were measured by heartbeats last.
    measured: Time,
}

impl BufferTuning {
    /// Present where a buffer may grow.
    pub(crate) fn new(config: &AssocConfig) -> Option<Box<Self>> {
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

    /// Whether the receive buffer follows the paths: then an end that only receives must know their
    /// round trips, too.
    pub(crate) const fn tunes_receive_buffer(&self) -> bool {
        self.receive_max > 0
    }

    /// Data came in. Once per round trip of the slowest path: is the buffer large enough for what
    /// came meanwhile? `delivered`: payload bytes that the application has taken so far. True when
    /// it is time to measure the round trips of idle paths by heartbeats: an end that only receives
    /// has no acknowledgements to measure by.
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        rx: &mut Receiver,
        delivered: u64,
        paths: &PathSet,
    ) -> bool {
        let Some(rtt) = slowest_round_trip(paths) else { return false };
        let elapsed = now.since(self.began);
        if elapsed < rtt {
            return false;
        }
        // What waits for a missing chunk was delivered by its path, too.
        let arrived = delivered + u64::from(rx.held());
        let bytes = arrived.saturating_sub(self.delivered);
        // An application that does not read needs no larger buffer.
        let read = rx.held() <= rx.out_of_order() + rx.buffer_size() / 4;
        (self.began, self.delivered) = (now, arrived);
        let share = rtt.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        let wanted = (bytes as f64 * share * ROUND_TRIPS as f64) as u64;
        let wanted = rx.with_charges(wanted).min(self.receive_max);
        if read && wanted > u64::from(rx.buffer_size()) {
            rx.grow_buffer(u32::try_from(wanted).unwrap_or(u32::MAX));
        }
        let measure = now.since(self.measured) >= MEASURE;
        if measure {
            self.measured = now;
        }
        measure
    }

    /// After a SACK: the send buffer must hold what all paths carry in the round trip of the
    /// slowest, since the cumulative TSN waits for it.
    pub(crate) fn on_sack(&self, tx: &mut Sender, paths: &PathSet) {
        let buffer = tx.buffer_view();
        if self.send_max <= buffer.limit || !tx.is_half_full() {
            return;
        }
        let Some(rtt) = slowest_round_trip(paths) else { return };
        let carried = |v: &PathView| {
            let own = v.srtt.unwrap_or(rtt).max(Duration::from_micros(1));
            // A window that is not used says nothing of what the path carries.
            let window = v.cwnd.min(2 * v.outstanding);
            (window as f64 * (rtt.as_secs_f64() / own.as_secs_f64()).max(1.0)) as u64
        };
        let usable = paths.views.iter().filter(|v| v.usable);
        let wanted = ROUND_TRIPS * usable.map(carried).sum::<u64>();
        // Small messages fill the memory that goes with the buffer before the buffer itself.
        let wanted = (wanted as f64 * tx.weight()) as u64;
        if wanted > buffer.limit {
            tx.grow_buffer(wanted.min(self.send_max));
        }
    }
}

/// What congestion control is told. The window that the peer announces at set-up says nothing where
/// windows grow: as slow start threshold it would end slow start long before the paths are full, so
/// the largest window counts (RFC 9260 section 7.2.1).
pub(crate) fn congestion_config(config: &AssocConfig) -> CcConfig {
    let mut congestion = config.congestion.clone();
    congestion.idle_halves_alone |= config.reproduction.ns2.idle_halves_alone;
    if let (InitialSsthresh::PeerWindow, Some(most)) =
        (congestion.initial_ssthresh, config.send_buffer_max)
    {
        congestion.initial_ssthresh = InitialSsthresh::Bytes(most);
    }
    congestion
}

fn slowest_round_trip(paths: &PathSet) -> Option<Duration> {
    let usable = paths.views.iter().filter(|v| v.usable);
    usable.filter_map(|v| v.srtt).max()
}
