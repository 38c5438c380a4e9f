//! Packets that are written and wait for their time: a path scheduler wanted consecutive TSNs on
//! their path ([`keeps_tsns_together`](crate::policy::PathScheduler::keeps_tsns_together)), and the
//! pacer spreads them.
//!
//! Their chunks count as sent when they are written, a small part of a round trip early.

use std::collections::VecDeque;

use super::packet_builder::Packet;
use crate::time::Time;

/// So many may wait, whatever the scheduler wants: each is a copy of its data.
const MOST: usize = 256;

#[derive(Debug)]
struct Held {
    departs: Time,
    packet: Packet,
    bytes: Vec<u8>,
}

/// Packets in the order of their departures.
#[derive(Debug, Default)]
pub(super) struct HeldPackets {
    packets: VecDeque<Held>,
}

impl HeldPackets {
    /// Whether no more may wait.
    pub(super) fn is_full(&self) -> bool {
        self.packets.len() >= MOST
    }

    /// Keeps a packet until `departs`.
    pub(super) fn push(&mut self, departs: Time, packet: Packet, bytes: Vec<u8>) {
        let at = self.packets.partition_point(|held| held.departs <= departs);
        self.packets.insert(at, Held { departs, packet, bytes });
    }

    /// When the next one leaves; `Time::MAX` when none waits.
    pub(super) fn deadline(&self) -> Time {
        self.packets.front().map_or(Time::MAX, |held| held.departs)
    }

    /// Appends the packet that leaves by `now` to `buf`.
    pub(super) fn take_due(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Packet> {
        if self.deadline() > now {
            return None;
        }
        let held = self.packets.pop_front()?;
        buf.extend_from_slice(&held.bytes);
        Some(held.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet_builder::PacketSize;
    use super::*;
    use crate::ids::{FourTuple, PathId};

    fn packet(path: u8) -> Packet {
        let address = "192.0.2.1:9899".parse().unwrap();
        let tuple = FourTuple { local: address, remote: address };
        Packet { path: PathId(path), tuple, len: 1, size: PacketSize::Fits }
    }

    #[test]
    fn packets_leave_at_their_time_and_as_they_were_written() {
        let mut held = HeldPackets::default();
        assert_eq!(held.deadline(), Time::MAX);
        for (ms, byte) in [(3, 0), (9, 1), (3, 2), (6, 3)] {
            held.push(Time::from_millis(ms), packet(byte), vec![byte]);
        }
        let mut buf = vec![7];
        assert_eq!(held.deadline(), Time::from_millis(3));
        assert!(held.take_due(Time::from_millis(2), &mut buf).is_none());
        for (path, next) in [(0, 3), (2, 6), (3, 9)] {
            let taken = held.take_due(Time::from_millis(8), &mut buf).unwrap();
            assert_eq!((taken.path, held.deadline()), (PathId(path), Time::from_millis(next)));
        }
        assert!(held.take_due(Time::from_millis(8), &mut buf).is_none());
        assert_eq!(buf, [7, 0, 2, 3]);
    }

    #[test]
    fn no_scheduler_makes_more_wait_than_there_is_room_for() {
        let mut held = HeldPackets::default();
        for _ in 0..MOST {
            assert!(!held.is_full());
            held.push(Time::ZERO, packet(0), Vec::new());
        }
        assert!(held.is_full());
    }
}
