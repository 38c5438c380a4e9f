//! Giving messages up (RFC 3758 section 3.5, A2 and A3; RFC 7496 section 3).
//!
//! A message is given up as a whole. What of it is unsent leaves the queue; what was sent counts as acknowledged, so that it is
//! neither outstanding nor sent again. Where only a part was sent, a last TSN is taken that is never sent: the peer is told to
//! skip up to it, and until then its hole keeps the unfinished message and the next one apart.

use polypath_wire::PacketWriter;

use super::memory::Room;
use super::outstanding::{ChunkState, TxChunk};
use super::partial_reliability::{Limit, Partial};
use super::send_options::Reliability;
use super::sending_half::Sender;
use super::types::AbandonedMessage;
use crate::ids::{MessageId, PathId, StreamId};
use crate::path::PathSet;
use crate::policy::StreamScheduler;
use crate::stats::AbandonedMessages;
use crate::time::Time;

impl Sender {
    /// The peer understands that messages are given up, or does not.
    pub(crate) const fn agree_on_abandoning(&mut self, agreed: bool) {
        self.may_skip = agreed;
    }

    /// Lists a message that may be given up.
    pub(super) fn list_partially_reliable(
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

    /// Whether [`abandon_expired_messages`](Self::abandon_expired_messages) has something to look at.
    #[inline]
    pub(crate) fn may_abandon_some(&self, now: Time) -> bool {
        let expired = |partial: &Partial| partial.has_expired(now);
        let lost = self.outstanding.has_lost_expendable();
        self.partial.as_ref().is_some_and(|partial| lost || expired(partial))
    }

    /// Gives up what has expired, and what was lost and must not be sent again. To be called before anything is sent.
    pub(crate) fn abandon_expired_messages(
        &mut self,
        now: Time,
        paths: &mut PathSet,
        scheduler: &mut dyn StreamScheduler,
    ) -> Vec<AbandonedMessage> {
        let mut out = Vec::new();
        while let Some(id) = self.partial.as_mut().and_then(|partial| partial.take_expired(now)) {
            if self.is_expendable(id) {
                out.extend(self.abandon(now, id, paths, scheduler));
            }
        }
        for tsn in self.outstanding.take_lost_expendable() {
            if let Some(id) = self.message_to_abandon(now, tsn) {
                out.extend(self.abandon(now, id, paths, scheduler));
            }
        }
        if !out.is_empty() {
            self.forward.advance_point(&self.outstanding);
        }
        out
    }

    /// Whether something of an expired message would still be sent: a part for the first time, or one that is lost. What is all on
    /// its way may arrive; should it not, that is seen when it is lost (RFC 3758 section 4.1, TR4).
    fn is_expendable(&self, id: MessageId) -> bool {
        let Some(entry) = self.partial.as_ref().and_then(|partial| partial.get(id)) else {
            return false;
        };
        let lost = |tsn: &u64| self.outstanding.get(*tsn).is_some_and(TxChunk::is_marked);
        !entry.is_under_way() || entry.tsns.iter().any(lost)
    }

    /// The message of a chunk that was lost, if it must not be sent again.
    fn message_to_abandon(&self, now: Time, tsn: u64) -> Option<MessageId> {
        let chunk = self.outstanding.get(tsn).filter(|chunk| chunk.is_marked())?;
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
    ) -> Vec<AbandonedMessage> {
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
        let abandoned_now =
            victims.iter().filter_map(|&id| self.abandon(now, id, paths, scheduler)).collect();
        self.forward.advance_point(&self.outstanding);
        abandoned_now
    }

    /// Bytes of a message in the send buffer.
    fn held(&self, id: MessageId, stream: StreamId, tsns: impl Iterator<Item = u64>) -> u64 {
        let holds = |chunk: &&TxChunk| chunk.state() != ChunkState::NrAcked;
        let sent: u64 = tsns
            .filter_map(|tsn| self.outstanding.get(tsn).filter(holds))
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
    ) -> Option<AbandonedMessage> {
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
            if let Some((stream, bytes)) = self.outstanding.abandon(tsn, paths) {
                self.release_payload(stream, bytes);
            }
        }
        if let Some(removed) = self.queue.remove(entry.stream, id, scheduler) {
            self.used -= removed.bytes;
            if let Some(tail) = removed.tail {
                let chunk = TxChunk::new(tail, entry.stream, PathId(0), now);
                self.outstanding.push_abandoned(chunk);
            }
        }
        Some(AbandonedMessage { message: id, stream: entry.stream, sent: entry.begun })
    }

    /// Writes a FORWARD-TSN, if it fits, and lets T3 of `p` watch it (RFC 3758 section 3.5, C5).
    pub(crate) fn write_forward_tsn(
        &mut self,
        now: Time,
        p: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> bool {
        let interleaving = self.queue.is_interleaving();
        self.forward.write(now, p, interleaving, &self.outstanding, writer, paths)
    }

    /// A SACK came: what is there to tell the peer now?
    pub(crate) fn forward_after_sack(&mut self, now: Time, paths: &PathSet) {
        if self.partial.is_some() {
            self.forward.on_sack(now, &self.outstanding, paths);
        }
    }

    /// What was given up of `stream`; `None`: of all.
    pub(crate) fn abandoned(&self, stream: Option<StreamId>) -> AbandonedMessages {
        let Some(partial) = &self.partial else { return AbandonedMessages::default() };
        stream.map_or_else(|| partial.all_counts(), |stream| partial.counts(stream))
    }
}
