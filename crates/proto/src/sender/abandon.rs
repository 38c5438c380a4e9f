//! Giving messages up (RFC 3758 section 3.5, A2 and A3; RFC 7496 section 3).
//!
//! A message is given up as a whole. What of it is unsent leaves the queue; what was sent counts as acknowledged, so that it is
//! neither outstanding nor sent again. Where only a part was sent, a last TSN is taken that is never sent: the peer is told to
//! skip up to it, and until then its hole keeps the unfinished message and the next one apart.

use super::chunk::{ChunkState, TxChunk};
use super::memory::Room;
use super::partial::Limit;
use super::{Reliability, Sender};
use crate::ids::{MessageId, PathId, StreamId};
use crate::path::PathSet;
use crate::policy::StreamScheduler;
use crate::stats::AbandonedMessages;
use crate::time::Time;

/// A message that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub(crate) message: MessageId,
    pub(crate) stream: StreamId,
    /// Something of it had been sent.
    pub(crate) sent: bool,
}

impl Sender {
    /// The peer understands that messages are given up, or does not.
    pub(crate) const fn agree_on_giving_up(&mut self, agreed: bool) {
        self.may_skip = agreed;
    }

    /// Lists a message that may be given up.
    pub(super) fn list(
        &mut self,
        now: Time,
        id: MessageId,
        stream: StreamId,
        reliability: Reliability,
    ) {
        if reliability != Reliability::Full {
            let partial = self.partial.get_or_insert_default();
            partial.add(now, id, stream, reliability);
        }
    }

    /// When the next message expires; `Time::MAX`: none does.
    #[inline]
    pub(crate) fn lifetime_deadline(&self) -> Time {
        self.partial.as_ref().map_or(Time::MAX, |partial| partial.deadline())
    }

    /// A chunk was sent for the first time.
    #[inline(never)]
    pub(super) fn note_partial(&mut self, tsn: u64) {
        let (Some(chunk), Some(entries)) = (self.ring.get(tsn), &mut self.partial) else { return };
        if chunk.partial {
            entries.sent(chunk.message, tsn, chunk.flags.ending);
        }
    }

    /// Whether [`give_up`](Self::give_up) has something to look at.
    #[inline]
    pub(crate) fn may_give_up(&self, now: Time) -> bool {
        self.partial.as_ref().is_some_and(|partial| partial.has_work(now))
    }

    /// Gives up what has expired, and what was lost and must not be sent again. To be called before anything is sent.
    pub(crate) fn give_up(
        &mut self,
        now: Time,
        paths: &mut PathSet,
        scheduler: &mut dyn StreamScheduler,
    ) -> Vec<GivenUp> {
        let mut out = Vec::new();
        while let Some(id) = self.partial.as_mut().and_then(|partial| partial.take_expired(now)) {
            if self.is_expendable(id) {
                out.extend(self.abandon(now, id, paths, scheduler));
            }
        }
        let lost = self.partial.as_mut().map(|partial| partial.take_lost()).unwrap_or_default();
        for tsn in lost {
            if let Some(id) = self.hopeless(now, tsn) {
                out.extend(self.abandon(now, id, paths, scheduler));
            }
        }
        if !out.is_empty() {
            self.advance_point();
        }
        out
    }

    /// Whether something of an expired message would still be sent: a part for the first time, or one that is lost. What is all on
    /// its way may arrive; should it not, that is seen when it is lost (RFC 3758 section 4.1, TR4).
    fn is_expendable(&self, id: MessageId) -> bool {
        let Some(entry) = self.partial.as_ref().and_then(|partial| partial.get(id)) else {
            return false;
        };
        let lost = |tsn: &u64| self.ring.get(*tsn).is_some_and(TxChunk::is_marked);
        !entry.is_under_way() || entry.tsns.iter().any(lost)
    }

    /// The message of a chunk that was lost, if it must not be sent again.
    fn hopeless(&self, now: Time, tsn: u64) -> Option<MessageId> {
        let chunk = self.ring.get(tsn).filter(|chunk| chunk.is_marked())?;
        let repeated = self.partial.as_ref().is_none_or(|p| p.may_repeat(now, chunk));
        (!repeated).then_some(chunk.message)
    }

    /// Whether any message was handed in that may be given up.
    #[inline]
    pub(crate) const fn has_partial(&self) -> bool {
        self.partial.is_some()
    }

    /// Makes room for a message of `bytes` on `stream` by giving up less important ones (RFC 7496 section 3.2); none, if that would not
    /// do.
    pub(crate) fn make_room(
        &mut self,
        now: Time,
        stream: StreamId,
        bytes: u64,
        reliability: Reliability,
        paths: &mut PathSet,
        scheduler: &mut dyn StreamScheduler,
    ) -> Vec<GivenUp> {
        let rank = match reliability {
            Reliability::Full => None,
            Reliability::Priority(rank) => Some(rank),
            // They are not ranked against others.
            Reliability::Timed(_) | Reliability::Limited(_) => return Vec::new(),
        };
        let fits = |freed: Room| bytes <= self.room_with(stream, freed);
        let mut freed = Room::default();
        let Some(partial) = self.partial.as_ref().filter(|_| !fits(freed) && bytes <= self.limit)
        else {
            return Vec::new();
        };
        let mut victims = Vec::new();
        for (id, entry) in partial.displaceable(rank) {
            if fits(freed) {
                break;
            }
            if self.may_skip || !entry.begun {
                let held = self.held(id, entry.stream, entry.tsns.iter().copied());
                freed = freed.and(self.freed_by(held, entry.begun));
                victims.push(id);
            }
        }
        if !fits(freed) {
            return Vec::new();
        }
        let given_up =
            victims.iter().filter_map(|&id| self.abandon(now, id, paths, scheduler)).collect();
        self.advance_point();
        given_up
    }

    /// Bytes of a message in the send buffer.
    fn held(&self, id: MessageId, stream: StreamId, tsns: impl Iterator<Item = u64>) -> u64 {
        let holds = |chunk: &&TxChunk| chunk.state != ChunkState::NrAcked;
        let sent: u64 = tsns
            .filter_map(|tsn| self.ring.get(tsn).filter(holds))
            .map(|chunk| u64::from(chunk.bytes))
            .sum();
        sent + self.queue.unsent_of(stream, id)
    }

    /// Gives a message up. `None` if that cannot be: the peer would wait for the rest for ever.
    fn abandon(
        &mut self,
        now: Time,
        id: MessageId,
        paths: &mut PathSet,
        scheduler: &mut dyn StreamScheduler,
    ) -> Option<GivenUp> {
        let may_skip = self.may_skip;
        let partial = self.partial.as_mut()?;
        let entry = partial.get(id)?;
        if entry.begun && !may_skip {
            // From here on it is as reliable as any other (RFC 9260 section 11.1.5, lifetime).
            if matches!(entry.limit, Limit::Deadline(_)) {
                partial.remove(id);
            }
            return None;
        }
        let entry = partial.remove(id)?;
        partial.count(&entry);
        for &tsn in &entry.tsns {
            self.doom(tsn, paths);
        }
        if let Some(removed) = self.queue.remove(entry.stream, id, scheduler) {
            self.used -= removed.bytes;
            if let Some(tail) = removed.tail {
                let mut chunk = TxChunk::new(tail, entry.stream, PathId(0), now);
                chunk.state = ChunkState::Abandoned;
                self.ring.push(chunk);
            }
        }
        Some(GivenUp { message: id, stream: entry.stream, sent: entry.begun })
    }

    /// A chunk's message is given up: it counts as acknowledged (RFC 3758 section 3.5, A2).
    fn doom(&mut self, tsn: u64, paths: &mut PathSet) {
        let Some(chunk) = self.ring.get_mut(tsn) else { return };
        let before = chunk.state;
        let in_flight = before == ChunkState::InFlight;
        chunk.state = if in_flight { ChunkState::Doomed } else { ChunkState::Abandoned };
        drop(core::mem::take(&mut chunk.payload));
        let copies = core::mem::take(&mut chunk.copies);
        let (stream, path, size, bytes) = (chunk.stream, chunk.path, chunk.size(), chunk.bytes);
        if before != ChunkState::NrAcked {
            self.release(stream, path, u64::from(bytes), paths);
        }
        self.acked.remove(tsn);
        self.nr_acked.remove(tsn);
        let list = self.paths.get_mut(path.index());
        if !in_flight {
            _ = list.is_some_and(|list| list.marked.remove(&tsn));
            return;
        }
        if let Some(list) = list {
            list.doomed += 1;
        }
        self.window.left(bytes);
        if let Some((view, own)) = paths.both_mut(path) {
            view.outstanding -= size;
            view.outstanding_payload -= u64::from(bytes);
            // The cum-ack may come to pass it without its having arrived.
            own.cancel_probe(tsn);
        }
        for copy in &copies {
            if let Some(view) = paths.view_mut(copy.path) {
                view.outstanding -= size;
                view.copied -= size;
            }
        }
    }

    /// A chunk whose message was given up while it was in flight was lost. Gives whether it is one.
    pub(super) fn lose_doomed(&mut self, tsn: u64, paths: &mut PathSet) -> bool {
        let Some(chunk) = self.ring.get_mut(tsn).filter(|c| c.state == ChunkState::Doomed) else {
            return false;
        };
        chunk.state = ChunkState::Abandoned;
        let path = chunk.path;
        if let Some(list) = self.paths.get_mut(path.index()) {
            list.doomed = list.doomed.saturating_sub(1);
        }
        if let Some(view) = paths.view_mut(path) {
            view.lost_chunks += 1;
        }
        true
    }

    /// The fate of a chunk whose message was given up while it was in flight is known, or never will be.
    pub(super) fn forget_doomed(&mut self, chunk: &TxChunk) {
        if let Some(list) = self.paths.get_mut(chunk.path.index()) {
            list.doomed = list.doomed.saturating_sub(1);
        }
    }

    /// What was given up of `stream`; `None`: of all.
    pub(crate) fn abandoned(&self, stream: Option<StreamId>) -> AbandonedMessages {
        let Some(partial) = &self.partial else { return AbandonedMessages::default() };
        stream.map_or_else(|| partial.all_counts(), |stream| partial.counts(stream))
    }
}
