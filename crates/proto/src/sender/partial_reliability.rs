//! PartialReliability reliability: which messages may be abandoned, and when (RFC 3758 section 4.1,
//! RFC 7496 section 3).
//!
//! Only such messages are listed here, so that an association that sends none pays nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::outstanding::TxChunk;
use super::send_options::Reliability;
use crate::ids::{MessageId, StreamId};
use crate::stats::AbandonedMessages;
use crate::time::Time;

/// When a message is abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Limit {
    /// At this time.
    Deadline(Time),
    /// After so many retransmissions of a chunk.
    Retransmissions(u32),
    /// For the sake of messages that go before it.
    Rank(u32),
}

/// A message that may be abandoned.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) stream: StreamId,
    pub(super) limit: Limit,
    /// Its chunks that are not cum-acked; ascending.
    pub(super) tsns: VecDeque<u64>,
    /// Something of it was sent.
    pub(super) begun: bool,
    /// All of it was sent.
    complete: bool,
}

impl Entry {
    /// Whether all of it was sent.
    pub(super) const fn is_under_way(&self) -> bool {
        self.complete
    }
}

/// The messages that may be abandoned.
#[derive(Debug, Default)]
pub(crate) struct PartialReliability {
    entries: BTreeMap<MessageId, Entry>,
    /// Those of them that expire, and of which something may still be held back at that time.
    deadlines: BTreeSet<(Time, MessageId)>,
    /// Those that make room for others.
    ranks: BTreeSet<(u32, MessageId)>,
    /// What was abandoned, by stream.
    counts: BTreeMap<StreamId, AbandonedMessages>,
}

impl PartialReliability {
    /// The association is over. What was abandoned stays counted.
    pub(super) fn clear(&mut self) {
        *self = Self { counts: core::mem::take(&mut self.counts), ..Self::default() };
    }

    /// A message was handed in.
    pub(super) fn list_message(
        &mut self,
        now: Time,
        id: MessageId,
        stream: StreamId,
        reliability: Reliability,
    ) {
        let limit = match reliability {
            Reliability::Full => return,
            Reliability::Timed(lifetime) => Limit::Deadline(now + lifetime),
            Reliability::Limited(times) => Limit::Retransmissions(times),
            Reliability::Priority(rank) => Limit::Rank(rank),
        };
        match limit {
            Limit::Deadline(at) => _ = self.deadlines.insert((at, id)),
            Limit::Rank(rank) => _ = self.ranks.insert((rank, id)),
            Limit::Retransmissions(_) => {}
        }
        let tsns = VecDeque::new();
        let entry = Entry { stream, limit, tsns, begun: false, complete: false };
        self.entries.insert(id, entry);
    }

    /// Messages listed.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, id: MessageId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    /// A chunk of a message left for the first time.
    pub(super) fn note_sent(&mut self, id: MessageId, tsn: u64, last: bool) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.begun = true;
            entry.complete = last;
            entry.tsns.push_back(tsn);
        }
    }

    /// A chunk was cum-acked.
    pub(super) fn note_cum_acked(&mut self, id: MessageId, tsn: u64) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        // Chunks leave in the order of their TSNs.
        if entry.tsns.front() == Some(&tsn) {
            entry.tsns.pop_front();
        }
        if entry.complete && entry.tsns.is_empty() {
            self.remove(id);
        }
    }

    /// Lists the message no longer: it was abandoned, or delivered.
    pub(super) fn remove(&mut self, id: MessageId) -> Option<Entry> {
        let entry = self.entries.remove(&id)?;
        match entry.limit {
            Limit::Deadline(at) => _ = self.deadlines.remove(&(at, id)),
            Limit::Rank(rank) => _ = self.ranks.remove(&(rank, id)),
            Limit::Retransmissions(_) => {}
        }
        Some(entry)
    }

    /// When the next message expires; `Time::MAX`: none does.
    pub(super) fn deadline(&self) -> Time {
        self.deadlines.first().map_or(Time::MAX, |first| first.0)
    }

    /// Whether messages expired.
    pub(super) fn has_expired(&self, now: Time) -> bool {
        self.deadline() <= now
    }

    /// Takes the next message that has expired off the clock.
    pub(super) fn take_expired(&mut self, now: Time) -> Option<MessageId> {
        let first = self.deadlines.first().filter(|first| first.0 <= now)?;
        let id = first.1;
        self.deadlines.pop_first();
        Some(id)
    }

    /// Whether `chunk` may be sent again (RFC 3758 section 4.1, TR4; RFC 7496 section 3.1).
    pub(super) fn may_repeat(&self, now: Time, chunk: &TxChunk) -> bool {
        match self.entries.get(&chunk.message).map(|entry| entry.limit) {
            Some(Limit::Deadline(at)) => now < at,
            Some(Limit::Retransmissions(times)) => u32::from(chunk.transmissions) <= times,
            Some(Limit::Rank(_)) | None => true,
        }
    }

    /// The messages that a message of `rank` (`None`: fully reliable) may displace, the least
    /// important and newest first.
    pub(super) fn displaceable(
        &self,
        rank: Option<u32>,
    ) -> impl Iterator<Item = (MessageId, &Entry)> {
        let candidates = self.ranks.iter().rev();
        let lower = candidates.take_while(move |(own, _)| rank.is_none_or(|rank| *own > rank));
        lower.filter_map(|(_, id)| Some((*id, self.entries.get(id)?)))
    }

    /// Counts a message that was abandoned.
    pub(super) fn count_abandoned(&mut self, entry: &Entry) {
        let counts = self.counts.entry(entry.stream).or_default();
        let count = match entry.limit {
            Limit::Deadline(_) => &mut counts.timed,
            Limit::Retransmissions(_) => &mut counts.limited,
            Limit::Rank(_) => &mut counts.priority,
        };
        if entry.begun {
            count.sent += 1;
        } else {
            count.unsent += 1;
        }
    }

    /// What was abandoned of `stream`.
    pub(super) fn counts(&self, stream: StreamId) -> AbandonedMessages {
        self.counts.get(&stream).copied().unwrap_or_default()
    }

    /// What was abandoned of all streams.
    pub(super) fn all_counts(&self) -> AbandonedMessages {
        self.counts.values().fold(AbandonedMessages::default(), |sum, one| sum + *one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    const STREAM: StreamId = StreamId(3);

    fn add(partial: &mut PartialReliability, id: u64, reliability: Reliability) {
        partial.list_message(Time::from_secs(10), MessageId(id), STREAM, reliability);
    }

    #[test]
    fn fully_reliable_messages_are_not_listed() {
        let mut partial = PartialReliability::default();
        add(&mut partial, 1, Reliability::Full);
        assert!(
            partial.get(MessageId(1)).is_none() && !partial.has_expired(Time::from_secs(1 << 30))
        );
    }

    #[test]
    fn messages_expire_in_the_order_of_their_deadlines() {
        let mut partial = PartialReliability::default();
        add(&mut partial, 1, Reliability::Timed(Duration::from_secs(9)));
        add(&mut partial, 2, Reliability::Timed(Duration::from_secs(5)));
        assert_eq!(partial.deadline(), Time::from_secs(15));
        assert_eq!(partial.take_expired(Time::from_millis(14_999)), None);
        assert_eq!(partial.take_expired(Time::from_secs(15)), Some(MessageId(2)));
        assert_eq!(partial.take_expired(Time::from_secs(15)), None);
        partial.remove(MessageId(1));
        assert_eq!(partial.deadline(), Time::MAX);
    }

    #[test]
    fn lower_priorities_go_first_and_never_for_an_equal_one() {
        let mut partial = PartialReliability::default();
        for (id, rank) in [(1, 5), (2, 9), (3, 5), (4, 1)] {
            add(&mut partial, id, Reliability::Priority(rank));
        }
        let ids = |rank| partial.displaceable(rank).map(|(id, _)| id.0).collect::<Vec<_>>();
        assert_eq!(ids(None), [2, 3, 1, 4]);
        assert_eq!(ids(Some(5)), [2]);
        assert_eq!(ids(Some(0)), [2, 3, 1, 4]);
        assert!(ids(Some(9)).is_empty());
    }

    #[test]
    fn a_message_is_forgotten_once_all_of_it_is_acknowledged() {
        let mut partial = PartialReliability::default();
        add(&mut partial, 1, Reliability::Limited(0));
        partial.note_sent(MessageId(1), 7, false);
        partial.note_cum_acked(MessageId(1), 7);
        assert!(partial.get(MessageId(1)).is_some_and(|entry| entry.begun));
        partial.note_sent(MessageId(1), 8, true);
        partial.note_cum_acked(MessageId(1), 8);
        assert!(partial.get(MessageId(1)).is_none());
    }
}
