//! Messages of key management, which go before what the application has queued, but not into the
//! middle of one of its messages.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{Queued, SendQueue, Stream};
use crate::ids::{MessageId, StreamId};
use crate::policy::{MessageInfo, StreamScheduler};
use crate::protection::KEY_MANAGEMENT_PPID;
use crate::sender::send_options::SendOptions;
use crate::time::Time;

/// Key management's stream.
const STREAM: StreamId = StreamId(0);

/// Messages that wait to be sent, at most: an exchange has two at each end.
const MAX_WAITING: u8 = 4;

impl SendQueue {
    /// Whether key management's message is what its stream sends next. It goes before what the
    /// stream scheduler would name: without it the peer can read nothing, and acknowledge nothing.
    #[inline]
    pub(crate) fn leads_with_key_message(&self) -> bool {
        self.key_messages > 0
            && self
                .stream(STREAM)
                .and_then(|stream| stream.queue.front())
                .is_some_and(|head| head.begins() && head.is_key_message(STREAM))
    }

    /// Whether a message of key management has not left whole yet.
    #[inline]
    pub(crate) const fn has_key_messages(&self) -> bool {
        self.key_messages > 0
    }

    /// Whether there ever was one.
    pub(crate) const fn had_key_messages(&self) -> bool {
        self.has_keys
    }

    /// Whether a chunk is of key management's messages, and none of the application's.
    pub(in crate::sender) const fn is_of_key_management(
        &self,
        stream: StreamId,
        ppid: u32,
    ) -> bool {
        self.has_keys && stream.0 == STREAM.0 && ppid == KEY_MANAGEMENT_PPID
    }

    /// Whether there is a place for such a message now: not while a message of the stream that was
    /// begun waits for its end, nor while the stream is reset (RFC 6525 section 5.1.2, E2).
    pub(crate) fn takes_key_message(&self) -> bool {
        let stream = self.stream(STREAM);
        let held = self.holds_new || stream.is_some_and(|stream| stream.held.is_some());
        if held && !self.before_keys || self.key_messages >= MAX_WAITING {
            return false;
        }
        stream.is_none_or(|stream| stream.place_for_key_message().is_some())
    }

    /// Puts a message of key management in front of the first message that was not begun.
    pub(in crate::sender) fn push_key_message(
        &mut self,
        now: Time,
        data: Bytes,
        scheduler: &mut dyn StreamScheduler,
    ) -> MessageId {
        let id = MessageId(self.next_order());
        let bytes = data.len() as u64;
        let options = SendOptions { ppid: KEY_MANAGEMENT_PPID, ..SendOptions::default() };
        let entry = Queued {
            id,
            data,
            offset: 0,
            options,
            enqueued: now,
            continues: false,
            goes_on: false,
        };
        self.unsent += bytes;
        self.messages += 1;
        self.key_messages = self.key_messages.saturating_add(1);
        self.has_keys = true;
        let stream = self.stream_mut(STREAM);
        stream.unsent_bytes += bytes;
        let (was_empty, needs) = (stream.queue.is_empty(), stream.needs);
        let at = stream.place_for_key_message().unwrap_or(stream.queue.len());
        stream.queue.insert(at, entry);
        let message =
            MessageInfo { stream: STREAM, bytes: bytes as u32, order: id.0, enqueued: now, needs };
        if was_empty {
            self.add_head(message);
        } else {
            self.refresh_head(STREAM);
        }
        scheduler.on_queued(&self.heads(), &message);
        id
    }
}

impl Queued {
    pub(super) const fn is_key_message(&self, stream: StreamId) -> bool {
        stream.0 == STREAM.0 && self.options.ppid == KEY_MANAGEMENT_PPID
    }
}

impl Stream {
    /// Behind what was begun, and behind key management's own messages.
    fn place_for_key_message(&self) -> Option<usize> {
        let queue: &VecDeque<Queued> = &self.queue;
        let own = |entry: &Queued| entry.is_key_message(STREAM);
        let first = queue.iter().position(|entry| entry.begins() && !own(entry));
        first.or_else(|| {
            let begun = self.open.is_some_and(|open| !self.is_parked(open.id));
            (!begun).then_some(queue.len())
        })
    }

    /// Whether the message waits where new ones are held back.
    fn is_parked(&self, id: MessageId) -> bool {
        self.held.iter().flatten().any(|entry| entry.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::FirstCome;

    fn order(queue: &mut SendQueue) -> Vec<(u32, usize, bool)> {
        core::iter::from_fn(|| queue.dequeue_fragment(STREAM, 100, &mut FirstCome))
            .map(|taken| (taken.ppid, taken.payload.len(), taken.flags.beginning))
            .collect()
    }

    fn push(queue: &mut SendQueue, len: usize) {
        let (data, options) = (Bytes::from(vec![7; len]), SendOptions::default());
        queue.push_message(Time::ZERO, STREAM, data, options, &mut FirstCome);
    }

    fn push_key(queue: &mut SendQueue, len: usize) {
        queue.push_key_message(Time::ZERO, Bytes::from(vec![1; len]), &mut FirstCome);
    }

    #[test]
    fn keys_go_first_but_not_into_a_message() {
        let mut queue = SendQueue::default();
        push(&mut queue, 150);
        push(&mut queue, 10);
        queue.dequeue_fragment(STREAM, 100, &mut FirstCome).unwrap();
        push_key(&mut queue, 5);
        push_key(&mut queue, 6);
        let key = KEY_MANAGEMENT_PPID;
        assert_eq!(
            order(&mut queue),
            [(0, 50, false), (key, 5, true), (key, 6, true), (0, 10, true)]
        );
        assert_eq!((queue.unsent(), queue.messages()), (0, 0));
    }

    #[test]
    fn what_waits_behind_them_can_be_removed() {
        let all = (1..10).flat_map(|count| (1..=4).map(move |keys| (count, keys)));
        for (count, keys) in all {
            for which in 0..count {
                let mut queue = SendQueue::default();
                (0..count).for_each(|len| push(&mut queue, len + 1));
                (0..keys).for_each(|_| push_key(&mut queue, 50));
                let id = MessageId(which as u64);
                let removed = queue.remove(STREAM, id, &mut FirstCome).map(|m| m.bytes);
                assert_eq!(removed, Some(which as u64 + 1), "{count} {keys}");
                assert!(!order(&mut queue).iter().any(|(_, len, _)| *len == which + 1));
            }
        }
    }

    #[test]
    fn they_pass_what_is_held_back_and_wait_for_the_end_of_an_open_message() {
        let mut queue = SendQueue::default();
        queue.hold_for_keys();
        push(&mut queue, 10);
        assert!(queue.takes_key_message());
        push_key(&mut queue, 5);
        assert_eq!(order(&mut queue), [(KEY_MANAGEMENT_PPID, 5, true)]);
        queue.release(&[], &mut FirstCome);
        assert_eq!(order(&mut queue), [(0, 10, true)]);
        let part = |queue: &mut SendQueue, last| {
            let part = (Bytes::from_static(b"part"), last);
            queue.push_part(Time::ZERO, STREAM, part, SendOptions::default(), &mut FirstCome);
        };
        part(&mut queue, false);
        assert!(queue.takes_key_message(), "nothing of it was sent");
        order(&mut queue);
        assert!(!queue.takes_key_message());
        part(&mut queue, true);
        assert!(queue.takes_key_message());
        queue.hold(&[STREAM]);
        assert!(!queue.takes_key_message(), "the stream begins anew");
    }
}
