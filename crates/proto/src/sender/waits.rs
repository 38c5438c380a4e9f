//! What streams wait for, for who asks from outside.

use super::Sender;
use super::outstanding::TxChunk;
use crate::stats::{StreamWait, WaitsFor};
use crate::time::{Duration, Time};

/// Chunks that are looked at, at most: the oldest.
const LOOKED_AT: usize = 4096;

impl Sender {
    /// For how long the oldest data in flight on each path waits for an acknowledgement, since its
    /// latest transmission there.
    pub(crate) fn path_waits(&self, now: Time, paths: usize) -> Vec<Option<Duration>> {
        let mut waits = vec![None; paths];
        for (_, chunk) in self.outstanding.iter().take(LOOKED_AT) {
            if chunk.is_in_flight()
                && let Some(wait) = waits.get_mut(chunk.path.index())
            {
                *wait = (*wait).max(Some(now.since(chunk.sent)));
            }
        }
        waits
    }

    /// What each stream waits for, at most `most` of them, the longest first.
    pub(crate) fn stream_waits(&self, now: Time, most: usize) -> Vec<StreamWait> {
        let mut waits: Vec<StreamWait> = Vec::new();
        let find = |waits: &[StreamWait], stream| waits.binary_search_by_key(&stream, |w| w.stream);
        for (_, chunk) in self.outstanding.iter().take(LOOKED_AT) {
            let Some(on) = waits_for(chunk) else { continue };
            if let Err(slot) = find(&waits, chunk.stream) {
                let since = now.since(chunk.sent);
                let wait = StreamWait { stream: chunk.stream, on, since, unsent: None };
                waits.insert(slot, wait);
            }
        }
        for head in self.queue.heads().heads {
            let since = now.since(head.enqueued);
            let unsent = Some(since);
            match find(&waits, head.stream) {
                Ok(slot) => {
                    if let Some(wait) = waits.get_mut(slot) {
                        wait.unsent = unsent;
                    }
                }
                Err(slot) => {
                    let on = WaitsFor::Sending;
                    waits.insert(slot, StreamWait { stream: head.stream, on, since, unsent });
                }
            }
        }
        let longest = |wait: &StreamWait| wait.unsent.max(Some(wait.since));
        waits.sort_by_key(|wait| core::cmp::Reverse(longest(wait)));
        waits.truncate(most);
        waits
    }
}

fn waits_for(chunk: &TxChunk) -> Option<WaitsFor> {
    if chunk.is_in_flight() {
        Some(WaitsFor::Acknowledgement(chunk.path))
    } else if chunk.is_marked() {
        Some(WaitsFor::Retransmission(chunk.path))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::config::AssocConfig;
    use crate::ids::{StreamId, Tsn};
    use crate::policy::FirstCome;
    use crate::sender::SendOptions;

    #[test]
    fn each_stream_waits_once_and_the_longest_comes_first() {
        let mut sender = Sender::new(Tsn(1), &AssocConfig::default());
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        for (ms, stream) in [(5, 2), (10, 0), (20, 2), (30, 1)] {
            let options = SendOptions::default();
            let data = Bytes::from_static(b"x");
            let queue = &mut sender.queue;
            queue.push_message(at(ms), StreamId(stream), data, options, &mut FirstCome);
        }
        let seen: Vec<_> =
            sender.stream_waits(at(40), 2).iter().map(|w| (w.stream.0, w.since)).collect();
        assert_eq!(seen, [(2, Duration::from_millis(35)), (0, Duration::from_millis(30))]);
    }
}
