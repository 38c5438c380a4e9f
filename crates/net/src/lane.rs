//! The sockets of a reactor and what waits for each of them. Every socket has its own fate: one
//! whose buffer is full holds up no other.

use polypath_proto::time::{Duration, Time};

use crate::batch::{Batch, Flow, Outbox, Whole};

/// Packets that are made before they are sent. More would let SACKs wait, fewer cost more calls.
const PACKETS_AT_ONCE: usize = 256;

/// Packets that wait for a full socket, at most. Further ones are dropped, as a device drops them
/// whose queue is full.
const WAITING: usize = PACKETS_AT_ONCE;

/// A socket that took nothing for so long does not move at all: what waits for it is worth nothing
/// any more.
const PATIENCE: Duration = Duration::from_secs(5);

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is gone, to the network or for good.
    Gone,
    /// The socket is full.
    Full,
    /// It can go only packet by packet.
    TakeApart,
}

/// One socket with its queue.
#[derive(Debug)]
pub(crate) struct Lane<S> {
    pub(crate) socket: S,
    outbox: Outbox,
    /// Full since then.
    blocked: Option<Time>,
    /// Full for so long that what is meant for it is dropped.
    stuck: bool,
}

/// All sockets, each with its queue.
#[derive(Debug)]
pub(crate) struct Lanes<S> {
    lanes: Vec<Lane<S>>,
}

impl<S> Lane<S> {
    const fn new(socket: S) -> Self {
        Self { socket, outbox: Outbox::new(), blocked: None, stuck: false }
    }

    /// The socket is full, and what is meant for it waits.
    const fn is_blocked(&self) -> bool {
        self.blocked.is_some() && !self.stuck
    }

    /// The socket takes packets again.
    pub(crate) const fn resume(&mut self) {
        (self.blocked, self.stuck) = (None, false);
    }

    const fn is_full(&self) -> bool {
        self.stuck || self.is_blocked() && self.outbox.packets() >= WAITING
    }

    /// Appends a packet, `segments` of which may share a call, unless the queue is full.
    pub(crate) fn push_packet(&mut self, flow: Flow, packet: &[u8], whole: Whole, segments: usize) {
        match whole {
            _ if self.is_full() => {}
            Whole::AsUsual => self.outbox.push(flow, packet, segments),
            _ => self.outbox.push_alone(flow, packet, whole),
        }
    }

    /// Hands the oldest batch to `send`. False when there is none, or the socket is full.
    fn send_one(&mut self, now: Time, send: &mut impl FnMut(&S, &Batch) -> Fate) -> bool {
        if self.blocked.is_some() {
            return false;
        }
        let Some(batch) = self.outbox.pop() else { return false };
        match send(&self.socket, &batch) {
            Fate::Full => {
                self.blocked = Some(now);
                self.outbox.put_back(batch);
                return false;
            }
            Fate::TakeApart => self.outbox.take_apart(&batch),
            Fate::Gone => {}
        }
        self.outbox.recycle(batch);
        true
    }

    fn lose_patience(&mut self, now: Time) {
        if self.blocked.is_some_and(|since| now.since(since) >= PATIENCE) {
            self.outbox.clear();
            self.stuck = true;
        }
    }
}

impl<S> Lanes<S> {
    pub(crate) fn new(sockets: impl IntoIterator<Item = S>) -> Self {
        Self { lanes: sockets.into_iter().map(Lane::new).collect() }
    }

    pub(crate) fn add_sockets(&mut self, sockets: impl IntoIterator<Item = S>) {
        self.lanes.extend(sockets.into_iter().map(Lane::new));
    }

    /// Closes the sockets that are not wanted any more, and for which nothing waits.
    pub(crate) fn retain_sockets(&mut self, mut wanted: impl FnMut(&S) -> bool) {
        self.lanes.retain(|lane| lane.outbox.packets() > 0 || wanted(&lane.socket));
    }

    pub(crate) const fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Lane<S>> {
        self.lanes.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Lane<S>> {
        self.lanes.iter_mut()
    }

    /// Packets that wait, for whatever reason.
    pub(crate) fn packets(&self) -> usize {
        self.lanes.iter().map(|lane| lane.outbox.packets()).sum()
    }

    /// Whether to fetch another packet: some socket can send, and what waits for those that can is
    /// not much. With all sockets full the core keeps its packets.
    pub(crate) fn has_room(&self) -> bool {
        let able = || self.lanes.iter().filter(|lane| !lane.is_blocked());
        able().next().is_some()
            && able().map(|l| l.outbox.packets()).sum::<usize>() < PACKETS_AT_ONCE
    }

    /// Whether all sockets are full, and what is meant for them waits.
    pub(crate) fn all_blocked(&self) -> bool {
        self.lanes.iter().all(Lane::is_blocked)
    }

    /// When a socket that stays full loses what waits for it.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        let waiting = self.lanes.iter().filter(|lane| lane.outbox.packets() > 0);
        waiting.filter_map(|lane| lane.blocked).min().map(|since| since + PATIENCE)
    }

    /// Hands what waits to `send`, a batch of each socket in turn, until all are empty or full.
    pub(crate) fn flush_batches(&mut self, now: Time, mut send: impl FnMut(&S, &Batch) -> Fate) {
        self.lanes.iter_mut().for_each(|lane| lane.lose_patience(now));
        loop {
            let sent = self.lanes.iter_mut().map(|lane| lane.send_one(now, &mut send));
            if sent.filter(|sent| *sent).count() == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_proto::FourTuple;

    use super::*;

    const NOW: Time = Time::from_secs(1);

    fn flow(lane: u8) -> Flow {
        let address = |host: u8| core::net::SocketAddr::from(([10, 0, lane, host], 9899));
        Flow { tuple: FourTuple { local: address(1), remote: address(2) }, assoc: None }
    }

    fn push(lanes: &mut Lanes<u8>, lane: u8, packet: u8) {
        let at = lanes.iter_mut().find(|l| l.socket == lane).unwrap();
        at.push_packet(flow(lane), &[packet; 100], Whole::AsUsual, 1);
    }

    /// Sends on all sockets but `full`; (socket, first byte) of each batch that went.
    fn flushed(lanes: &mut Lanes<u8>, now: Time, full: Option<u8>) -> Vec<(u8, u8)> {
        let mut sent = Vec::new();
        lanes.flush_batches(now, |socket, batch| {
            if Some(*socket) == full {
                return Fate::Full;
            }
            sent.push((*socket, batch.bytes[0]));
            Fate::Gone
        });
        sent
    }

    #[test]
    fn a_full_socket_holds_up_no_other_and_keeps_its_order() {
        let mut lanes = Lanes::new([0, 1]);
        for packet in 0..3 {
            push(&mut lanes, 0, packet);
            push(&mut lanes, 1, packet);
        }
        assert_eq!(flushed(&mut lanes, NOW, Some(0)), [(1, 0), (1, 1), (1, 2)]);
        push(&mut lanes, 1, 3);
        assert_eq!(flushed(&mut lanes, NOW, None), [(1, 3)], "it waits to become writable");
        lanes.iter_mut().for_each(Lane::resume);
        assert_eq!(flushed(&mut lanes, NOW, None), [(0, 0), (0, 1), (0, 2)]);
    }

    #[test]
    fn a_full_socket_takes_nothing_of_the_others_room() {
        let mut lanes = Lanes::new([0, 1]);
        push(&mut lanes, 0, 0);
        flushed(&mut lanes, NOW, Some(0));
        for _ in 0..10 * WAITING {
            assert!(lanes.has_room());
            push(&mut lanes, 0, 1);
        }
        assert_eq!(lanes.packets(), WAITING, "further ones are dropped");
        for packet in 0..PACKETS_AT_ONCE {
            assert!(lanes.has_room(), "{packet}");
            push(&mut lanes, 1, 2);
        }
        assert!(!lanes.has_room());
    }

    #[test]
    fn the_core_keeps_its_packets_where_all_sockets_are_full() {
        let mut lanes = Lanes::new([0]);
        push(&mut lanes, 0, 0);
        flushed(&mut lanes, NOW, Some(0));
        assert!(!lanes.has_room() && lanes.all_blocked());
    }

    #[test]
    fn what_waits_for_a_socket_that_never_moves_is_dropped() {
        let mut lanes = Lanes::new([0, 1]);
        push(&mut lanes, 0, 0);
        flushed(&mut lanes, NOW, Some(0));
        let end = lanes.next_deadline().unwrap();
        assert_eq!(end, NOW + PATIENCE);
        flushed(&mut lanes, NOW + PATIENCE / 2, None);
        assert_eq!(lanes.packets(), 1);
        flushed(&mut lanes, end, None);
        assert_eq!((lanes.packets(), lanes.next_deadline()), (0, None));
        push(&mut lanes, 0, 1);
        assert_eq!(lanes.packets(), 0);
        lanes.iter_mut().for_each(Lane::resume);
        push(&mut lanes, 0, 2);
        assert_eq!(flushed(&mut lanes, end, None), [(0, 2)]);
    }
}
