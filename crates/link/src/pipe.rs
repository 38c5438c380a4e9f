//! Everything on the link, from the queue to the far end, in one FIFO.
//!
//! Departure and arrival are known when a packet comes in, so a packet costs one push and one pop,
//! and no event marks the end of its transmission. Whether it still waits follows from the time.

use std::collections::{BTreeSet, VecDeque};

use crate::server::Slot;
use crate::{Nanos, QueueLen};

/// A packet on the link.
#[derive(Debug)]
pub(crate) struct Transit<P> {
    pub(crate) slot: Slot,
    pub(crate) arrives: Nanos,
    /// Extra delay in ns, kept for the case that the departure changes.
    pub(crate) jitter: Nanos,
    pub(crate) size: u32,
    /// `None` for a packet that never arrives, or has arrived before one ahead of it.
    pub(crate) packet: Option<P>,
}

/// Packets in the order of transmission.
#[derive(Debug)]
pub(crate) struct Pipe<P> {
    transits: VecDeque<Transit<P>>,
    /// How many at the front have been seen to start their transmission; the others wait.
    started: usize,
    waiting_bytes: u64,
    /// Order of arrival, kept only where packets may overtake each other.
    order: Option<ArrivalOrder>,
}

/// Arrival times with the packets' numbers.
#[derive(Debug, Default)]
struct ArrivalOrder {
    arrivals: BTreeSet<(Nanos, u64)>,
    /// The number of the packet at the front of the pipe.
    front: u64,
}

impl<P> Pipe<P> {
    pub(crate) fn new(reorder: bool) -> Self {
        Self {
            transits: VecDeque::new(),
            started: 0,
            waiting_bytes: 0,
            order: reorder.then(ArrivalOrder::default),
        }
    }

    /// Whether packets may overtake each other.
    pub(crate) fn may_reorder(&self) -> bool {
        self.order.is_some()
    }

    pub(crate) fn push_transit(&mut self, transit: Transit<P>) {
        if let Some(order) = self.order.as_mut().filter(|_| transit.packet.is_some()) {
            order.arrivals.insert((transit.arrives, order.front + self.transits.len() as u64));
        }
        self.waiting_bytes += u64::from(transit.size);
        self.transits.push_back(transit);
    }

    /// Takes note of the transmissions that have started by `now`.
    pub(crate) fn note_departures(&mut self, now: Nanos) {
        while let Some(transit) = self.transits.get(self.started).filter(|t| t.slot.starts <= now) {
            self.waiting_bytes -= u64::from(transit.size);
            self.started += 1;
        }
    }

    /// What waited at the time of the last [`Self::note_departures`], with all that was pushed since.
    pub(crate) fn queue_len(&self) -> QueueLen {
        QueueLen { packets: (self.transits.len() - self.started) as u64, bytes: self.waiting_bytes }
    }

    /// What waits at `now`.
    pub(crate) fn waiting_at(&self, now: Nanos) -> QueueLen {
        let newly_started = self.transits.iter().skip(self.started);
        newly_started.take_while(|transit| transit.slot.starts <= now).fold(
            self.queue_len(),
            |w, transit| QueueLen {
                packets: w.packets - 1,
                bytes: w.bytes - u64::from(transit.size),
            },
        )
    }

    /// When the next packet arrives.
    pub(crate) fn next_arrival(&self) -> Option<Nanos> {
        match &self.order {
            Some(order) => order.arrivals.first().map(|(arrives, _)| *arrives),
            None => self.transits.iter().find(|t| t.packet.is_some()).map(|t| t.arrives),
        }
    }

    /// The next packet that has arrived by `now`, with its size.
    pub(crate) fn pop_arrived(&mut self, now: Nanos) -> Option<(u32, P)> {
        if self.order.is_some() {
            return self.pop_reordered(now);
        }
        while self.transits.front().is_some_and(|transit| transit.arrives <= now) {
            let transit = self.pop_front()?;
            if let Some(packet) = transit.packet {
                return Some((transit.size, packet));
            }
        }
        None
    }

    fn pop_reordered(&mut self, now: Nanos) -> Option<(u32, P)> {
        let order = self.order.as_mut()?;
        let &(_, number) = order.arrivals.first().filter(|(arrives, _)| *arrives <= now)?;
        order.arrivals.pop_first();
        let place = usize::try_from(number - order.front).ok()?;
        let transit = self.transits.get_mut(place)?;
        let popped = transit.packet.take().map(|packet| (transit.size, packet));
        self.discard_front(now);
        popped
    }

    /// Removes packets at the front that are gone already.
    fn discard_front(&mut self, now: Nanos) {
        let gone = |transit: &Transit<P>| transit.packet.is_none() && transit.slot.departs <= now;
        while self.transits.front().is_some_and(gone) {
            self.pop_front();
        }
    }

    fn pop_front(&mut self) -> Option<Transit<P>> {
        let transit = self.transits.pop_front()?;
        match self.started.checked_sub(1) {
            Some(started) => self.started = started,
            None => self.waiting_bytes -= u64::from(transit.size),
        }
        if let Some(order) = &mut self.order {
            order.front += 1;
        }
        Some(transit)
    }

    /// Loses all packets that have not arrived by `now`; returns how many would have arrived.
    pub(crate) fn lose_all(&mut self, now: Nanos) -> u64 {
        let mut lost = 0;
        self.transits.retain(|transit| {
            let arrived = transit.arrives <= now;
            lost += u64::from(!arrived && transit.packet.is_some());
            arrived
        });
        self.started = self.transits.len();
        self.waiting_bytes = 0;
        self.restore_order();
        lost
    }

    /// Splits at `now` into the arrival of the last packet that has left the transmitter, if it is
    /// still on the link, and the packets that have not left. Whoever changes these calls
    /// [`Self::restore_order`] afterwards.
    pub(crate) fn split_undeparted(
        &mut self,
        now: Nanos,
    ) -> (Option<Nanos>, impl Iterator<Item = &mut Transit<P>> + '_) {
        let departed = self.transits.partition_point(|transit| transit.slot.departs <= now);
        let last = departed.checked_sub(1).and_then(|place| self.transits.get(place));
        (last.map(|transit| transit.arrives), self.transits.range_mut(departed..))
    }

    /// Brings the order of arrival up to date after packets were changed or removed.
    pub(crate) fn restore_order(&mut self) {
        let Some(order) = &mut self.order else { return };
        let numbered = (order.front..).zip(&self.transits);
        let live = numbered.filter(|(_, transit)| transit.packet.is_some());
        order.arrivals = live.map(|(number, transit)| (transit.arrives, number)).collect();
    }
}
