//! How long TSNs take from their first transmission to their first arrival.

use std::collections::BTreeMap;

use polypath_link::Nanos;
use polypath_proto::trace::{TraceEvent, TraceRecord};
use polypath_sim::observer::SentPacket;

use super::super::number::to_seconds;

/// SCTP common header.
const HEADER: usize = 12;
/// Chunk type of DATA.
const DATA: u8 = 0;

#[derive(Debug, Default)]
pub(in crate::metrics) struct Arrivals {
    /// First transmission of each TSN that has not arrived.
    sent: BTreeMap<u32, Nanos>,
    /// TSNs in each packet on its way.
    packets: BTreeMap<u64, Vec<u32>>,
    sum: Nanos,
    max: Nanos,
    count: u64,
}

impl Arrivals {
    pub(super) fn packet_sent(&mut self, packet: &SentPacket<'_>) {
        let tsns = read_tsns(packet.data);
        if !tsns.is_empty() {
            self.packets.insert(packet.id, tsns);
        }
    }

    pub(super) fn packet_dropped(&mut self, id: u64) {
        self.packets.remove(&id);
    }

    pub(super) fn packet_delivered(&mut self, at: Nanos, id: u64) {
        for tsn in self.packets.remove(&id).unwrap_or_default() {
            if let Some(sent) = self.sent.remove(&tsn) {
                let took = at.saturating_sub(sent);
                self.sum += took;
                self.max = self.max.max(took);
                self.count += 1;
            }
        }
    }

    pub(super) fn note_record(&mut self, record: &TraceRecord) {
        if let TraceEvent::Sent { tsn, retransmission: None, .. } = record.event {
            self.sent.insert(tsn, record.at.as_nanos());
        }
    }

    /// Mean in s.
    pub(in crate::metrics) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }

    /// The longest, s.
    pub(in crate::metrics) fn max(&self) -> Option<f64> {
        (self.count > 0).then(|| to_seconds(self.max))
    }
}

/// TSNs of the DATA chunks in an SCTP packet.
fn read_tsns(packet: &[u8]) -> Vec<u32> {
    let mut rest = packet.get(HEADER..).unwrap_or_default();
    let mut tsns = Vec::new();
    while let [kind, _, high, low, tail @ ..] = rest {
        if let ([a, b, c, d, ..], true) = (tail, *kind == DATA) {
            tsns.push(u32::from_be_bytes([*a, *b, *c, *d]));
        }
        let length = usize::from(u16::from_be_bytes([*high, *low])).max(4);
        // Chunks are padded to a multiple of four.
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    tsns
}

#[cfg(test)]
mod tests {
    use super::read_tsns;

    #[test]
    fn data_chunks_are_found_behind_others() {
        let mut packet = vec![0; 12];
        packet.extend([3, 0, 0, 5, 0, 0, 0, 0]);
        packet.extend([0, 3, 0, 17, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
        packet.extend([0, 3, 0, 16, 0, 0, 1, 3]);
        assert_eq!(read_tsns(&packet), [258, 259]);
        assert!(read_tsns(&packet[..11]).is_empty());
    }
}
