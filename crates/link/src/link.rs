//! The link itself: admission, transmission, propagation, and changes while packets are on it.

use rand_chacha::ChaCha12Rng;

use crate::arrival::Arrival;
use crate::loss::Losses;
use crate::pipe::{Pipe, Transit};
use crate::queue::Admission;
use crate::random::Stream;
use crate::schedule::Schedule;
use crate::server::{Server, Slot, packet_work};
use crate::{
    Change, DropReason, Jitter, LinkConfig, LinkSeed, LinkStats, LossAt, LossModel, Nanos, QueueLen,
};

/// What becomes of an offered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Offer {
    /// It will arrive, unless the link goes down before.
    Accepted,
    /// It will not arrive. With [`LossAt::Exit`] a packet taken by a loss model still waits and is
    /// sent.
    Dropped(DropReason),
}

/// One direction of a link that carries packets of type `P`.
///
/// Time must not run backwards from call to call. Scheduled changes take effect at their own times
/// however late the link is used, and before an offer made at the same time.
#[derive(Debug)]
pub struct Link<P> {
    up: bool,
    server: Server,
    /// The largest packet that it carries, bytes.
    mtu: u32,
    delay: Nanos,
    /// Boxed, for most links have none, and what is used per packet should lie together.
    jitter: Option<Box<(Jitter, ChaCha12Rng)>>,
    admission: Admission,
    losses: Losses,
    loss_at: LossAt,
    schedule: Schedule,
    pipe: Pipe<P>,
    /// Latest arrival so far, which keeps a link without reordering in order.
    last_arrival: Nanos,
    stats: LinkStats,
}

impl<P> Link<P> {
    /// A link that is up and empty. Settings that [`LinkConfig::check`] refuses do not fail here: a
    /// rate of 0 counts as 1 bit/s, and probabilities outside 0..=1 as always or never.
    #[must_use]
    pub fn new(config: LinkConfig, seed: LinkSeed) -> Self {
        let reorder = config.jitter.is_some_and(|jitter| jitter.reorder);
        Self {
            up: true,
            server: match config.trace {
                Some(trace) => Server::with_trace(trace),
                None => Server::with_rate(config.rate),
            },
            mtu: config.mtu.unwrap_or(u32::MAX),
            delay: config.delay,
            jitter: config
                .jitter
                .map(|jitter| Box::new((jitter, seed.random_stream(Stream::Jitter)))),
            admission: Admission::new(config.queue, seed),
            losses: Losses::new(config.loss, seed),
            loss_at: config.loss_at,
            schedule: Schedule::new(config.schedule),
            pipe: Pipe::new(reorder),
            last_arrival: 0,
            stats: LinkStats::default(),
        }
    }

    /// The largest packet that the link carries, bytes, the IP header included.
    #[must_use]
    pub const fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Hands a packet of `size` bytes, the IP header included, to the link.
    pub fn offer_packet(&mut self, now: Nanos, size: u32, packet: P) -> Offer {
        self.offer_in_fragments(now, size, size, packet)
    }

    /// The same of a packet that IP has cut into fragments, of which the largest has `largest` of
    /// the `size` bytes, all their headers included. They are lost or arrive together.
    pub fn offer_in_fragments(&mut self, now: Nanos, size: u32, largest: u32, packet: P) -> Offer {
        self.apply_schedule(now);
        self.stats.offered += 1;
        self.stats.offered_bytes += u64::from(size);
        if largest > self.mtu {
            return self.count_drop(DropReason::TooLarge);
        }
        match self.admit_packet(now, size) {
            Ok(lost_at_exit) => {
                self.transmit_packet(now, size, lost_at_exit.is_none().then_some(packet));
                lost_at_exit.map_or(Offer::Accepted, |reason| self.count_drop(reason))
            }
            Err(reason) => self.count_drop(reason),
        }
    }

    /// When to call [`Self::poll_arrival`] next: at the next arrival, or at a scheduled change before it,
    /// at which `poll` may have nothing to give. `None` while no packet is on its way.
    #[must_use]
    pub fn next_delivery(&self) -> Option<Nanos> {
        self.pipe.next_arrival().map(|arrival| arrival.min(self.schedule.next_at()))
    }

    /// The next packet that has arrived by `now`; call until it gives none.
    pub fn poll_arrival(&mut self, now: Nanos) -> Option<P> {
        self.apply_schedule(now);
        let (size, packet) = self.pipe.pop_arrived(now)?;
        self.stats.delivered += 1;
        self.stats.delivered_bytes += u64::from(size);
        Some(packet)
    }

    /// Takes the link up or down. Going down loses every packet that has not arrived by `now`,
    /// waiting or on the wire, and until the link is up again every packet offered.
    pub fn set_up(&mut self, now: Nanos, up: bool) {
        self.apply_schedule(now);
        self.change_up(now, up);
    }

    /// Sets the rate in bit/s, `None` for no limit, and ends a delivery trace. The packet in
    /// transmission has sent what the old rate allowed; its rest and all that wait go at the new
    /// one.
    pub fn set_rate(&mut self, now: Nanos, rate: Option<u64>) {
        self.apply_schedule(now);
        self.change_rate(now, rate);
    }

    /// Sets the propagation delay in ns for all packets that have not left the transmitter. Unless
    /// the jitter may reorder, packets still arrive in order: behind a shorter delay they wait for
    /// those ahead.
    pub fn set_delay(&mut self, now: Nanos, delay: Nanos) {
        self.apply_schedule(now);
        self.change_delay(now, delay);
    }

    /// Replaces the loss models for packets offered from now on. The new ones start with fresh
    /// states and fresh random streams.
    pub fn set_loss(&mut self, now: Nanos, models: Vec<LossModel>) {
        self.apply_schedule(now);
        self.losses.replace_models(models);
    }

    /// What waits for the transmitter at `now`, without the packet in transmission. Scheduled
    /// changes count once an offer or a poll has applied them.
    #[must_use]
    pub fn queue_len(&self, now: Nanos) -> QueueLen {
        self.pipe.waiting_at(now)
    }

    /// Whether the link is up, as of the last offer, poll or change.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Counters since the link was made.
    #[must_use]
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Time in ns for which the transmitter has had work up to `now`.
    #[must_use]
    pub fn busy_time(&self, now: Nanos) -> Nanos {
        self.stats.busy.saturating_sub(self.backlog_time(now))
    }

    /// Time in ns until all that the link has accepted is sent: how long a packet that came at
    /// `now` would wait. A trace may let it wait longer.
    #[must_use]
    pub fn backlog_time(&self, now: Nanos) -> Nanos {
        self.server.busy_until().saturating_sub(now)
    }

    /// Whether the packet may enter: `Ok` with a reason if it enters and is lost on the wire.
    fn admit_packet(&mut self, now: Nanos, size: u32) -> Result<Option<DropReason>, DropReason> {
        if !self.up {
            return Err(DropReason::Down);
        }
        if self.loss_at == LossAt::Entry {
            self.losses.next_loss(size).map_or(Ok(()), Err)?;
        }
        self.pipe.note_departures(now);
        let arrival = self.describe_arrival(now, size);
        self.admission.refuse_packet(arrival).map_or(Ok(()), Err)?;
        match self.loss_at {
            LossAt::Entry => Ok(None),
            LossAt::Exit => Ok(self.losses.next_loss(size)),
        }
    }

    fn describe_arrival(&self, now: Nanos, size: u32) -> Arrival {
        let wants_time = matches!(self.admission, Admission::Red(_));
        Arrival {
            size,
            waiting: self.pipe.queue_len(),
            idle: now.checked_sub(self.server.busy_until()),
            transmission: if wants_time { self.server.transmission_time(size) } else { 0 },
        }
    }

    fn transmit_packet(&mut self, now: Nanos, size: u32, packet: Option<P>) {
        let busy_from = self.server.busy_until().max(now);
        let slot = self.server.serve_packet(now, size);
        self.stats.busy += self.server.busy_until().saturating_sub(busy_from);
        let jitter = self.jitter.as_deref_mut();
        let jitter = jitter.map_or(0, |(jitter, rng)| jitter.draw_delay(rng));
        let mut arrives = slot.departs.saturating_add(self.delay).saturating_add(jitter);
        if !self.pipe.may_reorder() {
            arrives = arrives.max(self.last_arrival);
        }
        self.last_arrival = arrives;
        self.pipe.push_transit(Transit { slot, arrives, jitter, size, packet });
        self.pipe.note_departures(now);
        self.note_queue();
    }

    fn note_queue(&mut self) {
        let (waiting, max) = (self.pipe.queue_len(), &mut self.stats.max_queue);
        max.packets = max.packets.max(waiting.packets);
        max.bytes = max.bytes.max(waiting.bytes);
    }

    fn count_drop(&mut self, reason: DropReason) -> Offer {
        self.stats.dropped.count_reason(reason, 1);
        Offer::Dropped(reason)
    }

    #[inline]
    fn apply_schedule(&mut self, now: Nanos) {
        if self.schedule.next_at() <= now {
            self.apply_due(now);
        }
    }

    #[cold]
    fn apply_due(&mut self, now: Nanos) {
        while let Some((at, change)) = self.schedule.pop_due(now) {
            match change {
                Change::Up(up) => self.change_up(at, up),
                Change::Rate(rate) => self.change_rate(at, rate),
                Change::Delay(delay) => self.change_delay(at, delay),
                Change::Loss(models) => self.losses.replace_models(models),
            }
        }
    }

    fn change_up(&mut self, now: Nanos, up: bool) {
        if self.up && !up {
            self.stats.busy = self.busy_time(now);
            self.stats.dropped.count_reason(DropReason::Down, self.pipe.lose_all(now));
            self.server.abandon_work(now);
            self.last_arrival = 0;
        }
        self.up = up;
    }

    fn change_delay(&mut self, now: Nanos, delay: Nanos) {
        self.delay = delay;
        self.reschedule_packets(now, |_, _| ());
    }

    fn change_rate(&mut self, now: Nanos, rate: Option<u64>) {
        self.pipe.note_departures(now);
        self.stats.busy = self.busy_time(now);
        let backlog = self.server.backlog(now);
        let waiting = u128::from(self.pipe.queue_len().bytes);
        let mut server = Server::with_rate(rate).idle_since(self.server.busy_until().min(now));
        // Without a count of work (a trace) the packet in transmission is sent again from its first
        // bit.
        let rest_of_current =
            backlog.map(|backlog| backlog.saturating_sub(waiting * packet_work(1)));
        self.reschedule_packets(now, |transit, now| {
            transit.slot = match rest_of_current {
                Some(rest) if transit.slot.starts <= now => {
                    let slot = server.resume_packet(now, rest);
                    Slot { starts: transit.slot.starts, ..slot }
                }
                _ => server.serve_packet(now, transit.size),
            }
        });
        self.stats.busy += server.busy_until().saturating_sub(now);
        self.server = server;
    }

    /// Works out anew the departures, by `depart`, and the arrivals of all packets that have not
    /// left.
    fn reschedule_packets(&mut self, now: Nanos, mut depart: impl FnMut(&mut Transit<P>, Nanos)) {
        let (in_order, delay) = (!self.pipe.may_reorder(), self.delay);
        let (last, undeparted) = self.pipe.split_undeparted(now);
        let mut last = last.unwrap_or(0);
        for transit in undeparted {
            depart(transit, now);
            let arrives = transit.slot.departs.saturating_add(delay);
            let arrives = arrives.saturating_add(transit.jitter);
            transit.arrives = if in_order { arrives.max(last) } else { arrives };
            last = transit.arrives;
        }
        self.last_arrival = last;
        self.pipe.restore_order();
        self.pipe.note_departures(now);
    }
}
