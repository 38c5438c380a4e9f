//! Outgoing packets, put together so that one call to the kernel carries many: packets of one path
//! and one size, the last of which may be shorter (generic segmentation offload).

use std::collections::VecDeque;

use polypath_proto::{AssocHandle, FourTuple};

/// What one call may carry, bytes: the largest UDP payload over IPv4.
const MAX_BYTES: usize = 65_507;

/// Whose packets go where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) tuple: FourTuple,
    /// `None`: an answer to a stranger.
    pub(crate) assoc: Option<AssocHandle>,
}

/// Packets for one call.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) flow: Flow,
    /// The packets, end to end.
    pub(crate) bytes: Vec<u8>,
    /// Length of every packet but the last.
    pub(crate) segment: usize,
    /// Packets in it.
    pub(crate) packets: usize,
    /// What IP may do to them.
    pub(crate) whole: Whole,
    /// No more may follow: it is full, or its last packet is short.
    closed: bool,
}

/// Whether IP may take a packet apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// As the socket does it.
    AsUsual,
    /// It must not: the packet's size is what is being tried (RFC 8899).
    Probe,
    /// It shall, if it must: the packet cannot be made smaller.
    Fragments,
}

impl Batch {
    fn may_take(&self, flow: Flow, len: usize, segments: usize) -> bool {
        !self.closed
            && self.whole == Whole::AsUsual
            && self.flow == flow
            && len <= self.segment
            && self.packets < segments
            && self.bytes.len() + len <= MAX_BYTES
    }

    fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.packets += 1;
        self.closed = packet.len() < self.segment;
    }

    /// The packets one by one.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.segment.max(1))
    }
}

/// Batches that wait for one socket, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Batch>,
    spare: Vec<Vec<u8>>,
    packets: usize,
}

/// Empty buffers that are kept.
const SPARE: usize = 64;

impl Outbox {
    pub(crate) const fn new() -> Self {
        Self { waiting: VecDeque::new(), spare: Vec::new(), packets: 0 }
    }

    /// Packets that wait.
    pub(crate) const fn packets(&self) -> usize {
        self.packets
    }

    /// Appends a packet, `segments` of which may share a call. Packets of one path stay in order.
    pub(crate) fn push(&mut self, flow: Flow, packet: &[u8], segments: usize) {
        // The latest batch of the path, or none: an earlier one would let this packet overtake.
        let latest = self.waiting.iter_mut().rev().find(|b| b.flow == flow);
        if let Some(batch) = latest.filter(|b| b.may_take(flow, packet.len(), segments)) {
            self.packets += 1;
            batch.push(packet);
            return;
        }
        self.push_alone(flow, packet, Whole::AsUsual);
    }

    /// Appends a packet in a batch of its own, which only usual packets may join.
    pub(crate) fn push_alone(&mut self, flow: Flow, packet: &[u8], whole: Whole) {
        self.packets += 1;
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.extend_from_slice(packet);
        let segment = packet.len();
        let batch = Batch { flow, bytes, segment, packets: 1, whole, closed: false };
        self.waiting.push_back(batch);
    }

    /// Drops all that waits.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.packets = 0;
    }

    /// Takes the oldest batch.
    pub(crate) fn pop(&mut self) -> Option<Batch> {
        let batch = self.waiting.pop_front()?;
        self.packets -= batch.packets;
        Some(batch)
    }

    /// Gives back a batch that could not be sent yet; it is the oldest again.
    pub(crate) fn put_back(&mut self, batch: Batch) {
        self.packets += batch.packets;
        self.waiting.push_front(batch);
    }

    /// Takes a batch apart that could not be sent in one call: its packets are the oldest again,
    /// each for itself.
    pub(crate) fn take_apart(&mut self, batch: &Batch) {
        let Batch { flow, whole, .. } = *batch;
        let packets: Vec<&[u8]> = batch.packets().collect();
        for packet in packets.into_iter().rev() {
            let (bytes, segment) = (packet.to_vec(), packet.len());
            self.put_back(Batch { flow, bytes, segment, packets: 1, whole, closed: true });
        }
    }

    /// Keeps the memory of a batch that was sent.
    pub(crate) fn recycle(&mut self, batch: Batch) {
        if self.spare.len() < SPARE {
            let mut bytes = batch.bytes;
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(path: u8) -> Flow {
        let address = |host: u8| core::net::SocketAddr::from(([10, 0, path, host], 9899));
        Flow { tuple: FourTuple { local: address(1), remote: address(2) }, assoc: None }
    }

    fn path(Flow { tuple, .. }: Flow) -> u8 {
        let core::net::IpAddr::V4(v4) = tuple.local.ip() else { panic!("{tuple}") };
        v4.octets()[2]
    }

    /// (path, segment, packets) of every batch.
    fn drained(outbox: &mut Outbox) -> Vec<(u8, usize, usize)> {
        core::iter::from_fn(|| outbox.pop())
            .map(|b| (path(b.flow), b.segment, b.packets().count()))
            .collect()
    }

    fn push(outbox: &mut Outbox, path: u8, len: usize) {
        outbox.push(flow(path), &vec![path; len], 3);
    }

    #[test]
    fn packets_of_a_path_share_a_batch_though_paths_alternate() {
        let mut outbox = Outbox::default();
        for _ in 0..3 {
            push(&mut outbox, 0, 1472);
            push(&mut outbox, 1, 1472);
        }
        assert_eq!(outbox.packets(), 6);
        assert_eq!(drained(&mut outbox), [(0, 1472, 3), (1, 1472, 3)]);
        assert_eq!(outbox.packets(), 0);
    }

    #[test]
    fn a_short_packet_ends_a_batch_and_a_longer_one_begins_the_next() {
        let mut outbox = Outbox::default();
        for len in [1000, 500, 500, 700, 700, 700, 700] {
            push(&mut outbox, 0, len);
        }
        assert_eq!(drained(&mut outbox), [(0, 1000, 2), (0, 500, 1), (0, 700, 3), (0, 700, 1)]);
    }

    #[test]
    fn packets_that_ip_must_treat_otherwise_go_alone() {
        let mut outbox = Outbox::default();
        push(&mut outbox, 0, 1000);
        outbox.push_alone(flow(0), &[0; 1400], Whole::Probe);
        push(&mut outbox, 0, 1000);
        push(&mut outbox, 0, 1000);
        assert_eq!(drained(&mut outbox), [(0, 1000, 1), (0, 1400, 1), (0, 1000, 2)]);
    }

    #[test]
    fn what_could_not_be_sent_stays_first() {
        let mut outbox = Outbox::default();
        push(&mut outbox, 0, 100);
        push(&mut outbox, 1, 100);
        let first = outbox.pop().unwrap();
        outbox.put_back(first);
        assert_eq!(drained(&mut outbox), [(0, 100, 1), (1, 100, 1)]);
    }
}
