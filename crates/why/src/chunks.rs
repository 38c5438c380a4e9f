//! Every chunk of one direction: when it was sent, and when it came.

use std::collections::BTreeMap;

use crate::end::{End, Received, SentChunk};
use crate::line::{Arrived, Fate};

/// Transmissions of a chunk that are kept, the first ones, and as many of its arrivals: far more
/// than any association lives to see (RFC 9260 section 16, Association.Max.Retrans: 10). A file
/// with more would take time and memory that grow with the product of its lines.
pub(crate) const MOST_PER_TSN: usize = 256;

/// A chunk, by all that both ends saw of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunk {
    /// Extended TSN.
    pub(crate) tsn: u64,
    pub(crate) stream: u16,
    /// What it says of its message, once it came.
    pub(crate) label: Option<Arrived>,
    /// In the order in which they were sent.
    pub(crate) transmissions: Vec<Transmission>,
    pub(crate) arrivals: Vec<Arrival>,
}

/// A chunk on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    /// As the sender counts paths.
    pub(crate) path: u8,
    pub(crate) sent: u64,
    /// Bytes of data in its packet, as far as can be told.
    pub(crate) size: u64,
    /// When it was declared lost.
    pub(crate) lost: Option<u64>,
    pub(crate) arrival: Option<Arrival>,
}

/// A chunk that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// As the receiver counts paths.
    pub(crate) path: u8,
    pub(crate) at: u64,
    /// Bytes of data in its packet.
    pub(crate) size: u64,
    /// There was no room for it.
    pub(crate) refused: bool,
}

/// Chunks in the order of their TSNs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks(pub(crate) Vec<Chunk>);

impl Chunks {
    /// What `sender` sent to `receiver`; transmissions have no arrivals yet.
    pub(crate) fn of(sender: &End, receiver: &End) -> Self {
        let mut chunks = BTreeMap::new();
        note_sent(sender, &mut chunks);
        note_lost(sender, &mut chunks);
        note_arrived(receiver, &mut chunks);
        let named = |(tsn, chunk)| Chunk { tsn, ..chunk };
        Self(chunks.into_iter().map(named).collect())
    }

    /// The position of a TSN.
    pub(crate) fn find(&self, tsn: u64) -> Option<usize> {
        self.0.binary_search_by_key(&tsn, |chunk| chunk.tsn).ok()
    }

    /// The first position of this TSN or a higher one.
    pub(crate) fn lower_bound(&self, tsn: u64) -> usize {
        self.0.partition_point(|chunk| chunk.tsn < tsn)
    }
}

fn note_sent(sender: &End, chunks: &mut BTreeMap<u64, Chunk>) {
    let mut extender = sender.extender_of_sent();
    let together = |sent: &SentChunk| (sent.at, sent.path, u64::from(sent.bytes));
    let sizes = sum_together(sender.sent.iter().map(together));
    for (sent, size) in sender.sent.iter().zip(sizes) {
        let chunk = chunks.entry(extender.extend(sent.tsn)).or_default();
        chunk.stream = sent.stream.unwrap_or(chunk.stream);
        if chunk.transmissions.len() < MOST_PER_TSN {
            let SentChunk { at, path, .. } = *sent;
            let one = Transmission { path, sent: at, size, lost: None, arrival: None };
            chunk.transmissions.push(one);
        }
    }
}

/// Of each of these (when, path, bytes) the bytes of its neighbours with the same time and path:
/// one packet, or a burst of them.
fn sum_together(all: impl Iterator<Item = (u64, u8, u64)>) -> Vec<u64> {
    let mut sums: Vec<u64> = Vec::new();
    let (mut first, mut sum, mut of) = (0, 0, None);
    for (place, (at, path, bytes)) in all.enumerate() {
        if of.replace((at, path)) != Some((at, path)) {
            sums.get_mut(first..).unwrap_or_default().fill(sum);
            (first, sum) = (place, 0);
        }
        sum += bytes;
        sums.push(sum);
    }
    sums.get_mut(first..).unwrap_or_default().fill(sum);
    sums
}

/// The latest transmission on that path before is the one that was lost: many a sender sends a
/// chunk again in the very moment in which it declares it lost.
fn note_lost(sender: &End, chunks: &mut BTreeMap<u64, Chunk>) {
    let mut extender = sender.extender_of_sent();
    let mut lost = sender.lost.iter().peekable();
    // TSNs are extended beside those that were sent meanwhile.
    for sent in &sender.sent {
        while let Some(&(at, path, tsn)) = lost.next_if(|lost| lost.0 < sent.at) {
            declare_lost(at, path, chunks.get_mut(&extender.extend(tsn)));
        }
        extender.extend(sent.tsn);
    }
    for &(at, path, tsn) in lost {
        declare_lost(at, path, chunks.get_mut(&extender.extend(tsn)));
    }
}

fn declare_lost(at: u64, path: u8, chunk: Option<&mut Chunk>) {
    let Some(chunk) = chunk else { return };
    let before = chunk.transmissions.partition_point(|one| one.sent < at);
    let (sent, _) = chunk.transmissions.split_at_mut(before);
    if let Some(one) = sent.iter_mut().rfind(|one| one.path == path) {
        one.lost.get_or_insert(at);
    }
}

fn note_arrived(receiver: &End, chunks: &mut BTreeMap<u64, Chunk>) {
    let mut extender = receiver.extender_of_received();
    let arrived = |(at, event): &(u64, Received)| match event {
        Received::Arrived(arrived) => Some((*at, *arrived)),
        _ => None,
    };
    let all = || receiver.received.iter().filter_map(arrived);
    let sizes = sum_together(all().map(|(at, one)| (at, one.path, u64::from(one.bytes))));
    for ((at, arrived), size) in all().zip(sizes) {
        let chunk = chunks.entry(extender.extend(arrived.tsn)).or_default();
        let refused = arrived.fate == Fate::NoRoom;
        if chunk.arrivals.len() < MOST_PER_TSN {
            chunk.arrivals.push(Arrival { path: arrived.path, at, size, refused });
        }
        if chunk.label.is_none() {
            chunk.stream = arrived.stream;
            chunk.label = Some(arrived);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Event;

    #[test]
    fn of_one_tsn_so_much_is_kept_and_no_more() {
        let [mut sender, mut receiver] = ["client", "server"].map(|host| End::new(0, "f", host));
        let arrived = Arrived {
            path: 0,
            tsn: 1,
            stream: 0,
            message: 0,
            interleaved: false,
            unordered: false,
            begins: true,
            ends: true,
            bytes: 1,
            fate: Fate::NoRoom,
        };
        for at in 0..10_000 {
            sender.note(at, Event::Sent { path: (at % 2) as u8, tsn: 1, bytes: 1, stream: None });
            sender.note(at, Event::Lost { path: (at % 2) as u8, tsn: 1 });
            receiver.note(at, Event::Arrived(arrived));
        }
        let Chunks(chunks) = Chunks::of(&sender, &receiver);
        let [chunk] = &chunks[..] else { panic!("one TSN") };
        assert_eq!([chunk.transmissions.len(), chunk.arrivals.len()], [MOST_PER_TSN; 2]);
        assert_eq!(chunk.arrivals[MOST_PER_TSN - 1].at, 255, "the first ones");
    }
}
