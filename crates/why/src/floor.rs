//! How long each path takes at least, and how long it took just then.

use std::collections::BTreeMap;

use crate::chunks::Chunks;

const SECOND: u64 = 1_000_000_000;

/// Floors are looked for within so many seconds before and after.
const WINDOW: u64 = 30;

/// A neighbour further away tells nothing of a queue, ns.
const NEAR: u64 = SECOND;

/// Of so many packets two follow each other as closely as the path lets them.
const ENOUGH: usize = 16;

/// One-way delays of one direction, by the sender's paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floors(BTreeMap<u8, PathDelays>);

#[derive(Clone, Debug, Default)]
struct PathDelays {
    /// Time that a byte takes at least, in 1/256 ns.
    per_byte: u64,
    /// The largest packet, bytes of data.
    largest: u64,
    /// When it was sent, and how long it took, ns; ascending.
    delays: Vec<(u64, u64)>,
    /// The least of each second, without what its bytes take.
    least: BTreeMap<u64, i128>,
}

impl Floors {
    /// Of all transmissions that came.
    pub(crate) fn of(chunks: &Chunks) -> Self {
        let mut packets: BTreeMap<u8, BTreeMap<u64, Packet>> = BTreeMap::new();
        for one in chunks.0.iter().flat_map(|chunk| &chunk.transmissions) {
            let Some(came) = one.arrival else { continue };
            let packet = Packet { sent: one.sent, size: came.size };
            packets.entry(one.path).or_default().insert(came.at, packet);
        }
        let paths = packets.into_iter().map(|(path, packets)| (path, PathDelays::of(&packets)));
        Self(paths.collect())
    }

    /// What a packet with `size` bytes of data, sent on `path` at `at`, takes at least, ns; 0 where
    /// nothing came.
    pub(crate) fn floor(&self, path: u8, at: u64, size: u64) -> u64 {
        let Some(own) = self.0.get(&path) else { return 0 };
        let second = at / SECOND;
        let near = second.saturating_sub(WINDOW)..=second.saturating_add(WINDOW);
        let least = own.least.range(near).map(|(_, least)| *least).min();
        let least = least.or_else(|| own.least.values().copied().min()).unwrap_or(0);
        u64::try_from(least + i128::from(own.time_of(size))).unwrap_or(0)
    }

    /// What something sent on `path` at `at` would have taken: as long as its nearest neighbour.
    pub(crate) fn expected(&self, path: u8, at: u64, size: u64) -> u64 {
        let floor = self.floor(path, at, size);
        let Some(own) = self.0.get(&path) else { return floor };
        let after = own.delays.partition_point(|(sent, _)| *sent < at);
        let (before, rest) = own.delays.split_at(after);
        let near = |(sent, delay): &(u64, u64)| (sent.abs_diff(at), *delay);
        let neighbours = before.last().into_iter().chain(rest.first()).map(near);
        let nearest = neighbours.min().filter(|(distance, _)| *distance <= NEAR);
        nearest.map_or(floor, |(_, delay)| delay.max(floor))
    }
}

/// A packet that came.
#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: u64,
    /// Bytes of data.
    size: u64,
}

impl PathDelays {
    /// Of packets by when they came.
    fn of(packets: &BTreeMap<u64, Packet>) -> Self {
        let largest = packets.values().map(|packet| packet.size).max().unwrap_or(0);
        let mut own = Self { per_byte: time_per_byte(packets), largest, ..Self::default() };
        for (came, packet) in packets {
            let delay = came.saturating_sub(packet.sent);
            own.delays.push((packet.sent, delay));
            // Below nothing, where packets were never close together.
            let bare = i128::from(delay) - i128::from(own.time_of(packet.size));
            let least = own.least.entry(packet.sent / SECOND).or_insert(bare);
            *least = bare.min(*least);
        }
        own.delays.sort_unstable();
        own
    }

    /// What was lost in a burst is known by the burst alone: no packet is larger than others.
    fn time_of(&self, size: u64) -> u64 {
        self.per_byte.saturating_mul(size.min(self.largest)) >> 8
    }
}

/// The time that a byte takes on the slowest link, in 1/256 ns, by the packets that follow each
/// other most closely: large packets take longer than small ones without any queue. It is rather
/// too short than too long: packets may be pushed together behind the slowest link.
fn time_per_byte(packets: &BTreeMap<u64, Packet>) -> u64 {
    let pairs = packets.keys().zip(packets.iter().skip(1));
    let gap = |(before, (came, packet)): (&u64, (&u64, &Packet))| {
        (came.saturating_sub(*before).saturating_mul(256)).checked_div(packet.size)
    };
    pairs.filter_map(gap).min().filter(|_| packets.len() >= ENOUGH).unwrap_or(0)
}
